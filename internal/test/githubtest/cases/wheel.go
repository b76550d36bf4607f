package cases

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Wheel is an unpacked wheel. METADATA, WHEEL and RECORD are added when it is packed.
type Wheel struct {
	Name, Version string
	// such as "cp311-cp311-manylinux2014_x86_64"; all have the same interpreter and ABI
	Tags     []string
	Requires []string // values of Requires-Dist
	Files    map[string][]byte
}

// FileName returns NAME-VERSION-PYTHON-ABI-PLATFORM[.PLATFORM].whl.
func (w Wheel) FileName() string {
	var platforms []string
	front := ""
	for _, t := range w.Tags {
		i := strings.LastIndex(t, "-")
		front, platforms = t[:i], append(platforms, t[i+1:])
	}
	return w.stem() + "-" + front + "-" + strings.Join(platforms, ".") + ".whl"
}

func (w Wheel) stem() string { return strings.ReplaceAll(w.Name, "-", "_") + "-" + w.Version }

// Metadata returns the text of METADATA.
func (w Wheel) Metadata() string {
	text := fmt.Sprintf("Metadata-Version: 2.1\nName: %s\nVersion: %s\n", w.Name, w.Version)
	for _, r := range w.Requires {
		text += "Requires-Dist: " + r + "\n"
	}
	return text
}

// File returns the wheel's name and bytes.
func (w Wheel) File() (name string, content []byte) {
	info := w.stem() + ".dist-info/"
	files := maps.Clone(w.Files)
	files[info+"METADATA"] = []byte(w.Metadata())
	files[info+"WHEEL"] = []byte(
		"Wheel-Version: 1.0\nGenerator: cases\nRoot-Is-Purelib: false\nTag: " + strings.Join(
			w.Tags,
			"\nTag: ",
		) + "\n",
	)
	record := ""
	for _, path := range slices.Sorted(maps.Keys(files)) {
		sum := sha256.Sum256(files[path])
		record += fmt.Sprintf(
			"%s,sha256=%s,%d\n",
			path,
			base64.RawURLEncoding.EncodeToString(sum[:]),
			len(files[path]),
		)
	}
	files[info+"RECORD"] = []byte(record + info + "RECORD,,\n")
	return w.FileName(), Zip(files)
}

// Under returns the wheel as a file in a directory ("dist/", "" = none), for Zip.
func (w Wheel) Under(folder string) map[string][]byte {
	name, content := w.File()
	return map[string][]byte{folder + name: content}
}

// Zip packs the files of all maps, sorted by name, like upload-artifact.
func Zip(files ...map[string][]byte) []byte {
	all := map[string][]byte{}
	for _, f := range files {
		maps.Copy(all, f)
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, path := range slices.Sorted(maps.Keys(all)) {
		method := zip.Deflate
		if len(all[path]) == 0 {
			// a compressor for each of 300,000 empty files would take minutes
			method = zip.Store
		}
		f, _ := z.CreateHeader(&zip.FileHeader{Name: path, Method: method})
		_, _ = f.Write(all[path]) // memory never fails
	}
	_ = z.Close()
	return b.Bytes()
}

// Dist returns an artifact of wheels: a zip with each of them in dist/.
func Dist(wheels ...Wheel) []byte {
	var files []map[string][]byte
	for _, w := range wheels {
		files = append(files, w.Under("dist/"))
	}
	return Zip(files...)
}
