package dwarf_test

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/dwarf"
)

var binaries = flag.String("binaries", "testdata/*.so",
	"glob of ELF files that TestAgreesWithReadelf reads")

// TestAgreesWithReadelf compares the position, depth, names, sizes and offsets of all entries in
// the files of -binaries with the output of GNU readelf.
func TestAgreesWithReadelf(t *testing.T) {
	files, err := filepath.Glob(*binaries)
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	entries := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, _, err := open(b)
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		out, err := exec.Command("readelf", "--debug-dump=info", "-W", file).Output()
		if err != nil {
			t.Fatalf("readelf (GNU binutils) %s: %v", file, err)
		}
		want := printed(out)
		n := 0
		compare := func(e *dwarf.Entry, depth int) {
			got := described(e, depth)
			if n < len(want) && got != want[n] && !t.Failed() {
				t.Errorf("%s, entry %d: %s, and readelf prints %s", file, n, got, want[n])
			}
			n++
		}
		for u, err := range d.Units() {
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if u.TypeUnit && u.Version < 5 {
				continue // readelf prints .debug_types after .debug_info
			}
			var root dwarf.Entry
			if err := d.Entry(u.Root(), &root); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			compare(&root, 0)
			if err := walk(d, &root, 1, compare); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
		}
		if n != len(want) {
			t.Errorf("%s: %d entries, and readelf prints %d", file, n, len(want))
		}
		entries += n
	}
	t.Logf("%d entries of %d files", entries, len(files))
}

func described(e *dwarf.Entry, depth int) string {
	s := fmt.Sprintf("%d name=%q linkage=%q", depth, e.String(dwarf.Name),
		e.String(dwarf.LinkageName))
	for _, a := range []struct {
		name string
		of   dwarf.Attribute
	}{
		{"byte_size", dwarf.ByteSize}, {"bit_size", dwarf.BitSize},
		{"data_bit_offset", dwarf.DataBitOffset},
	} {
		if v, ok := e.Number(a.of); ok {
			s += fmt.Sprintf(" %s=%d", a.name, v)
		}
	}
	if v, ok := e.Offset(); ok && e.Has(dwarf.MemberLocation) {
		s += fmt.Sprintf(" member=%d", v)
	}
	return s
}

var (
	entryLine = regexp.MustCompile(`^ <(\d+)><([0-9a-f]+)>: Abbrev Number: (\d+)`)
	attrLine  = regexp.MustCompile(`^    <[0-9a-f]+>   (DW_AT_\w+)\s*: (.*)$`)
	indirect  = regexp.MustCompile(
		`^\((?:indirect (?:line )?string, offset: (?:0x)?[0-9a-f]+|indexed string: (?:0x)?[0-9a-f]+|` +
			`offset: (?:0x)?[0-9a-f]+|alt indirect string, offset: (?:0x)?[0-9a-f]+)\): `)
	// some versions of readelf print the form of an attribute first
	form = regexp.MustCompile(`^\((?:strp|strx[1-4]?|string|line_strp|strp_sup|GNU_strp_alt|` +
		`GNU_str_index|data\d+|[us]data|implicit_const|exprloc|sec_offset|block\d?|ref\w+)\) `)
	plusConstant = regexp.MustCompile(`\(DW_OP_plus_uconst: (\d+)\)`)
)

// printed parses readelf's output for .debug_info into the format of described.
func printed(out []byte) []string {
	var all []string
	current, inInfo := map[string]string{}, false
	depth := uint64(0)
	open := false
	flush := func() {
		if !open {
			return
		}
		s := fmt.Sprintf("%d name=%q linkage=%q", depth, current["name"], current["linkage"])
		for _, a := range []string{"byte_size", "bit_size", "data_bit_offset", "member"} {
			if v, ok := current[a]; ok {
				s += " " + a + "=" + v
			}
		}
		all = append(all, s)
		open = false
	}
	in := bufio.NewScanner(bytes.NewReader(out))
	in.Buffer(nil, 64<<20)
	for in.Scan() {
		l := in.Text()
		if strings.HasPrefix(l, "Contents of the ") {
			flush()
			inInfo = strings.Contains(l, ".debug_info") || strings.Contains(l, ".zdebug_info")
			continue
		}
		if !inInfo {
			continue
		}
		if m := entryLine.FindStringSubmatch(l); m != nil {
			flush()
			if m[3] == "0" {
				continue
			}
			depth, _ = strconv.ParseUint(m[1], 10, 32)
			current, open = map[string]string{}, true
			continue
		}
		m := attrLine.FindStringSubmatch(l)
		if m == nil {
			continue
		}
		value := form.ReplaceAllString(m[2], "")
		switch m[1] {
		case "DW_AT_name":
			current["name"] = indirect.ReplaceAllString(value, "")
		case "DW_AT_linkage_name", "DW_AT_MIPS_linkage_name":
			current["linkage"] = indirect.ReplaceAllString(value, "")
		case "DW_AT_byte_size", "DW_AT_bit_size", "DW_AT_data_bit_offset":
			if n, ok := constant(value); ok {
				current[strings.TrimPrefix(m[1], "DW_AT_")] = n
			}
		case "DW_AT_data_member_location":
			if p := plusConstant.FindStringSubmatch(value); p != nil {
				current["member"] = p[1]
			} else if n, ok := constant(value); ok {
				current["member"] = n
			}
		}
	}
	flush()
	return all
}

// constant parses a number that readelf prints; ok is false for a block or a reference.
func constant(value string) (string, bool) {
	value, _, _ = strings.Cut(strings.TrimSpace(value), "\t")
	n, err := strconv.ParseInt(value, 0, 64)
	if err != nil {
		u, err := strconv.ParseUint(value, 0, 64)
		return fmt.Sprint(u), err == nil
	}
	return fmt.Sprint(uint64(n)), true
}
