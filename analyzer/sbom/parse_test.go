package sbom_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	cdx "github.com/CycloneDX/cyclonedx-go"

	"github.com/compat-app/compat/analyzer/sbom"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want sbom.Document
	}{
		{`{}`, sbom.Document{}},
		{"\xef\xbb\xbf{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.4\"}\n",
			sbom.Document{Format: sbom.CycloneDX, Version: "1.4"}},
		{
			`{"bomFormat":"CycloneDX","metadata":{"tools":[{"name":"a"},3,{"vendor":"x"},{"name":"b"}],
			 "component":{"name":"p","version":"1","purl":"pkg:pypi/p@1","components":[{"name":"in"}]}},
			 "components":[{"name":"x","version":"2","bom-ref":"r","components":[{"name":"y"}]},"no",
			 {"name":7}]}`,
			sbom.Document{
				Format: sbom.CycloneDX, Tools: []string{"a", "b"},
				Subject:    sbom.Component{Name: "p", Version: "1", PURL: "pkg:pypi/p@1"},
				Components: []sbom.Component{{Name: "x", Version: "2", Ref: "r"}, {Name: "y"}, {}},
			},
		},
		{
			`{"metadata":{"tools":{"components":[{"name":"t"}],"services":[{"name":"s"}]}}}`,
			sbom.Document{Tools: []string{"t"}},
		},
		{
			`{"spdxVersion":"SPDX-2.3","packages":[{"SPDXID":"SPDXRef-a","name":"zlib",
			 "versionInfo":"1.3.1","externalRefs":[{"referenceType":"cpe23Type","referenceLocator":"c"},
			 {"referenceType":"purl","referenceLocator":"pkg:generic/zlib@1.3.1"}]}]}`,
			sbom.Document{Format: sbom.SPDX, Version: "SPDX-2.3", Components: []sbom.Component{
				{Name: "zlib", Version: "1.3.1", Ref: "SPDXRef-a", PURL: "pkg:generic/zlib@1.3.1"},
			}},
		},
	} {
		d, err := sbom.Parse([]byte(c.text))
		if err != nil || !reflect.DeepEqual(*d, c.want) {
			t.Errorf("%s: %+v %v, want %+v", c.text, d, err, c.want)
		}
	}
}

func TestParseErrors(t *testing.T) {
	deep := strings.Repeat(`{"a":[`, 40)
	for _, c := range []struct {
		text  string
		limit bool
		says  string
	}{
		{"", false, "ends too early"},
		{`[]`, false, "not a JSON object"},
		{`{"components":[`, false, "ends too early"},
		{`{} {}`, false, "follows its end"},
		{`{"a":1,}`, false, "not valid JSON"},
		{`{"a":{"b":1,"b":1}}`, false, `the name "b" twice`},
		{deep, true, "64 deep"},
		{`{"components":[` + strings.Repeat(`{},`, 10_000) + `{}]}`, true, "10000 components"},
		{`{"c":"` + strings.Repeat("x", sbom.MaxSize) + `"}`, true, "bytes"},
		{"{" + strings.Repeat(`"x`, 1), false, "not valid JSON"},
	} {
		d, err := sbom.Parse([]byte(c.text))
		if err == nil || errors.Is(err, sbom.ErrLimit) != c.limit ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%.60s: %+v, %v", c.text, d, err)
		}
	}
	many := []string{}
	for i := range 300 {
		many = append(many, `"`+strings.Repeat("n", i+1)+`":0`)
	}
	_, err := sbom.Parse([]byte("{" + strings.Join(many, ",") + "}"))
	if !errors.Is(err, sbom.ErrLimit) {
		t.Errorf("300 members: %v", err)
	}
}

// second compares a document with what the library of CycloneDX reads.
func second(t *testing.T, data []byte, d *sbom.Document) {
	var b cdx.BOM
	if err := cdx.NewBOMDecoder(bytes.NewReader(data), cdx.BOMFileFormatJSON).Decode(&b); err != nil {
		return // it also refuses wrong types
	}
	if b.BOMFormat != d.Format {
		return
	}
	var want []sbom.Component
	var add func(list *[]cdx.Component)
	add = func(list *[]cdx.Component) {
		if list == nil {
			return
		}
		for _, c := range *list {
			want = append(want, sbom.Component{
				Name: c.Name, Version: c.Version, PURL: c.PackageURL, Ref: c.BOMRef,
			})
			add(c.Components)
		}
	}
	add(b.Components)
	if !reflect.DeepEqual(d.Components, want) {
		t.Errorf("components %+v, the library reads %+v", d.Components, want)
	}
}

func TestSecondReader(t *testing.T) {
	for name, n := range map[string]int{"auditwheel.json": 4, "generic.json": 1} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		d, err := sbom.Parse(data)
		if err != nil || len(d.Components) != n {
			t.Fatalf("%s: %+v, %v", name, d, err)
		}
		second(t, data, d)
	}
}

// What is read is valid JSON, and the library of CycloneDX reads the same components of it, where
// names are written as in its schema: encoding/json also accepts other cases.
func FuzzParse(f *testing.F) {
	for _, name := range []string{"auditwheel.json", "generic.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add([]byte(`{"bomFormat":"CycloneDX","specVersion":"1.6","components":[` +
		`{"type":"library","name":"a","components":[{"type":"library","name":"b"}]}]}`))
	f.Add([]byte(`{"spdxVersion":"SPDX-2.3","packages":[{"name":"zlib","versionInfo":"1"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		d, err := sbom.Parse(data)
		plain := bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
		if err != nil {
			return
		}
		if !json.Valid(plain) {
			t.Fatalf("read as %+v, and is not valid JSON", d)
		}
		if d.Format == sbom.CycloneDX && !bytes.Contains(plain, []byte("packages")) &&
			!bytes.Contains(plain, []byte(`\`)) && !bytes.Contains(plain, []byte("null")) &&
			bytes.Equal(plain, lowered(plain)) {
			second(t, plain, d)
		}
	})
}

// lowered changes the case of names that the library would find in any case.
func lowered(data []byte) []byte {
	for _, name := range []string{
		"components", "name", "version", "purl", "bom-ref", "bomFormat", "specVersion", "metadata",
	} {
		low := bytes.ToLower(data)
		if bytes.Count(low, []byte(strings.ToLower(name))) != bytes.Count(data, []byte(name)) {
			return nil
		}
	}
	return data
}
