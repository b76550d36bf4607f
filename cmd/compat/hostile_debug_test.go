package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/compat-app/compat/internal/test/needs"
)

// abbreviations are the abbreviation table of the debug information in debugCases.
const abbreviations = `
.section .debug_abbrev,"",@progbits
abbrevs:
.uleb128 1; .uleb128 0x11; .byte 1; .uleb128 0x13; .uleb128 0x0b; .byte 0, 0 # compile_unit
.uleb128 2; .uleb128 0x2e; .byte 0; .uleb128 0x3f; .uleb128 0x19  # subprogram: external,
.uleb128 0x03; .uleb128 0x08; .uleb128 0x11; .uleb128 0x01  # name, low_pc,
.uleb128 0x12; .uleb128 0x07; .uleb128 0x49; .uleb128 0x13; .byte 0, 0  # high_pc, type
.uleb128 3; .uleb128 0x24; .byte 0; .uleb128 0x03; .uleb128 0x08  # base_type: name,
.uleb128 0x0b; .uleb128 0x0b; .uleb128 0x3e; .uleb128 0x0b; .byte 0, 0  # byte_size, encoding
.uleb128 4; .uleb128 0x16; .byte 0; .uleb128 0x03; .uleb128 0x08  # typedef: name,
.uleb128 0x49; .uleb128 0x13; .byte 0, 0  # type
.uleb128 5; .uleb128 0x0f; .byte 0; .uleb128 0x49; .uleb128 0x13; .byte 0, 0  # pointer_type: type
.uleb128 6; .uleb128 0x13; .byte 1; .uleb128 0x03; .uleb128 0x08  # structure_type: name,
.uleb128 0x0b; .uleb128 0x06; .byte 0, 0  # byte_size
.uleb128 7; .uleb128 0x0d; .byte 0; .uleb128 0x03; .uleb128 0x08  # member: name,
.uleb128 0x49; .uleb128 0x13; .uleb128 0x38; .uleb128 0x06; .byte 0, 0  # type, location
.uleb128 8; .uleb128 0x05; .byte 0; .uleb128 0x49; .uleb128 0x13; .byte 0, 0  # parameter: type
.uleb128 9; .uleb128 0x2e; .byte 1; .uleb128 0x3f; .uleb128 0x19  # subprogram with
.uleb128 0x03; .uleb128 0x08; .uleb128 0x11; .uleb128 0x01  # parameters: as 2
.uleb128 0x12; .uleb128 0x07; .uleb128 0x49; .uleb128 0x13; .byte 0, 0
.uleb128 10; .uleb128 0x39; .byte 1; .uleb128 0x03; .uleb128 0x08; .byte 0, 0  # namespace: name
.uleb128 11; .uleb128 0x01; .byte 1; .uleb128 0x49; .uleb128 0x13; .byte 0, 0  # array_type: type
.uleb128 12; .uleb128 0x21; .byte 0; .uleb128 0x2f; .uleb128 0x07; .byte 0, 0 # subrange_type
.uleb128 13; .uleb128 0x2e; .byte 0; .uleb128 0x47; .uleb128 0x13  # subprogram:
.uleb128 0x11; .uleb128 0x01; .uleb128 0x12; .uleb128 0x07; .byte 0, 0  # specification, place
.uleb128 14; .uleb128 0x16; .byte 0; .uleb128 0x03; .uleb128 0x0e  # typedef: name in
.uleb128 0x49; .uleb128 0x13; .byte 0, 0  # .debug_str, type
.uleb128 15; .uleb128 0x04; .byte 1; .uleb128 0x03; .uleb128 0x08  # enumeration: name,
.uleb128 0x0b; .uleb128 0x0b; .byte 0, 0  # byte_size
.uleb128 16; .uleb128 0x28; .byte 0; .uleb128 0x03; .uleb128 0x08  # enumerator: name,
.uleb128 0x1c; .uleb128 0x06; .byte 0, 0  # value
.uleb128 17; .uleb128 0x2e; .byte 0; .uleb128 0x3f; .uleb128 0x19  # subprogram: external,
.uleb128 0x03; .uleb128 0x0e; .uleb128 0x11; .uleb128 0x01  # name in .debug_str,
.uleb128 0x12; .uleb128 0x07; .uleb128 0x49; .uleb128 0x13; .byte 0, 0  # place, type
.byte 0
`

// Languages of a unit; names in C++ units have namespaces.
const (
	langC   = 0x0c
	langCXX = 0x04
)

// unit returns a compilation unit of DWARF 4 whose root has the children in body. In body,
// NAME-unit is a reference to the label NAME.
func unit(language int, body string) string {
	return fmt.Sprintf(`
.section .debug_info,"",@progbits
unit:
.long unit_end - unit_start
unit_start:
.value 4
.long abbrevs
.byte 8
.uleb128 1; .byte %d
%s
.byte 0
unit_end:
`, language, body)
}

// exported is a function whose entry has the abbreviation code 2 and a type.
const exported = `
.text
.globl f
.type f, @function
f: ret
.size f, .-f
`

func returns(label string) string {
	return fmt.Sprintf(".uleb128 2; .asciz \"f\"; .quad f; .quad 1; .long %s-unit\n", label)
}

const integer = "int: .uleb128 3; .asciz \"int\"; .byte 4, 5\n"

// debugCases is assembler source with debug information that no compiler writes: deeply nested,
// wide, cyclic, damaged, or much larger when references are followed than in the file. The two
// builds of a case differ in the size of int. lost means that the types of f cannot be read, so
// the result must not depend on debug information.
var debugCases = []struct {
	name   string
	lost   bool
	source string
}{
	{name: "typedefs in a row", source: exported + abbreviations + unit(langC, integer+`
.set i, 0
.rept 100000
.uleb128 4; .asciz "t"; .long . + 4 - unit
.endr
.uleb128 5; .long int - unit
last: .uleb128 4; .asciz "last"; .long int - unit
`+returns("last"))},
	{name: "typedefs deep", lost: true, source: exported + abbreviations + unit(langC, `
first: .rept 100000
.uleb128 4; .asciz "t"; .long . + 4 - unit
.endr
`+integer+returns("first"))},
	{name: "pointers deep", lost: true, source: exported + abbreviations + unit(langC, `
first: .rept 100000
.uleb128 5; .long . + 4 - unit
.endr
`+integer+returns("first"))},
	{name: "typedef of itself", lost: true, source: exported + abbreviations + unit(langC, `
self: .uleb128 4; .asciz "self"; .long self - unit
`+returns("self"))},
	{name: "pointer to itself", lost: true, source: exported + abbreviations + unit(langC, `
self: .uleb128 5; .long self - unit
`+returns("self"))},
	{name: "structure in itself", source: exported + abbreviations + unit(langC, integer+`
self: .uleb128 6; .asciz "self"; .long 8
.uleb128 7; .asciz "m"; .long self - unit; .long 0
.uleb128 7; .asciz "n"; .long int - unit; .long 4
.byte 0
`+returns("self"))},
	{name: "specification of itself", source: exported + abbreviations + unit(langCXX, integer+`
self: .uleb128 13; .long self - unit; .quad f; .quad 1
`)},
	{name: "members of 2^30 types", source: exported + abbreviations + unit(langC, integer+`
s0: .uleb128 6; .asciz "s0"; .long 8
.uleb128 7; .asciz "a"; .long int - unit; .long 0
.byte 0
.altmacro
.macro level from, to
s\to: .uleb128 6; .asciz "s\to"; .long 8
.uleb128 7; .asciz "a"; .long s\from - unit; .long 0
.uleb128 7; .asciz "b"; .long s\from - unit; .long 4
.byte 0
.endm
.set n, 0
.rept 30
level %n, %n+1
.set n, n + 1
.endr
`+returns("s30"))},
	{name: "a structure of 300,000 members", source: exported + abbreviations +
		unit(langC, integer+`
wide: .uleb128 6; .asciz "wide"; .long 8
.rept 300000
.uleb128 7; .asciz "m"; .long int - unit; .long 0
.endr
.byte 0
`+returns("wide"))},
	{name: "300,000 enumerators", source: exported + abbreviations + unit(langC, integer+`
wide: .uleb128 15; .asciz "wide"; .byte 4
.rept 300000
.uleb128 16; .asciz "E"; .long 1
.endr
.byte 0
`+returns("wide"))},
	{name: "an array of 2^60", source: exported + abbreviations + unit(langC, integer+`
array: .uleb128 11; .long int - unit
.rept 100000
.uleb128 12; .quad 0x0fffffffffffffff
.endr
.byte 0
`+returns("array"))},
	{name: "100,000 namespaces inside each other", lost: true, source: exported + abbreviations +
		unit(langCXX, integer+`
.rept 100000
.uleb128 10; .asciz "n"
.endr
`+returns("int")+`
.fill 100000, 1, 0
`)},
	{name: "a thousand entries of each of 300 namespaces", source: exported +
		abbreviations + unit(langCXX, integer+`
.rept 300
.uleb128 10; .asciz "namespace"
.rept 1000
.uleb128 4; .asciz "t"; .long int - unit
.endr
.byte 0
.endr
`+returns("int"))},
	{name: "100,000 entries of one function", source: exported + abbreviations +
		unit(langC, integer+".rept 100000\n"+returns("int")+".endr\n")},
	{name: "60,000 names of a megabyte", source: exported + abbreviations + unit(langC, integer+`
.rept 60000
.uleb128 14; .long 0; .long int - unit
.endr
.rept 60000
.uleb128 17; .long 0; .quad f; .quad 1; .long int - unit
.endr
`+returns("int")) + `
.section .debug_str,"",@progbits
.fill 1000000, 1, 'a'
.byte 0
`},
	{name: "20,000 members with names of a megabyte", source: exported + abbreviations +
		unit(langC, integer+`
.altmacro
.macro named n
t\n: .uleb128 14; .long \n; .long u\n - unit
u\n: .uleb128 6; .asciz "s\n"; .long 4
.uleb128 7; .asciz "a"; .long int - unit; .long 0
.byte 0
.endm
.set n, 0
.rept 20000
named %n
.set n, n + 1
.endr
all: .uleb128 6; .asciz "all"; .long 4
.macro member n
.uleb128 7; .asciz "m"; .long t\n - unit; .long 0
.endm
.set n, 0
.rept 20000
member %n
.set n, n + 1
.endr
.byte 0
`+returns("all")) + `
.section .debug_str,"",@progbits
.fill 1000000, 1, 'a'
.byte 0
`},
	{name: "30,000 functions", source: `
.altmacro
.text
.macro function n
.globl f\n
.type f\n, @function
f\n: ret
.size f\n, .-f\n
.endm
.set n, 0
.rept 30000
function %n
.set n, n + 1
.endr
.set f, f0
` + abbreviations + unit(langC, integer+`
chain: .uleb128 6; .asciz "chain"; .long 8
.uleb128 7; .asciz "a"; .long int - unit; .long 0
.uleb128 7; .asciz "next"; .long pointer - unit; .long 0
.byte 0
pointer: .uleb128 5; .long chain - unit
.macro entry n
.uleb128 9; .asciz "f\n"; .quad f\n; .quad 1; .long pointer - unit
.uleb128 8; .long pointer - unit
.byte 0
.endm
.set n, 0
.rept 30000
entry %n
.set n, n + 1
.endr
`)},
	{name: "100,000 parameters", source: exported + abbreviations + unit(langC, integer+`
.uleb128 9; .asciz "f"; .quad f; .quad 1; .long int - unit
.rept 100000
.uleb128 8; .long int - unit
.endr
.byte 0
`)},
	{name: "100,000 units", source: exported + abbreviations + `
.section .debug_info,"",@progbits
.rept 100000
.long 9
.value 4
.long abbrevs
.byte 8
.uleb128 1; .byte 0x0c
.endr
` + unit(langC, integer+returns("int"))},
	{name: "a table of abbreviations that each unit begins elsewhere", source: exported +
		abbreviations + `
.section .debug_abbrev
many:
.rept 20000
.uleb128 1; .uleb128 0x11; .byte 0; .uleb128 0x13; .uleb128 0x0b; .byte 0, 0
.endr
.byte 0
.section .debug_info,"",@progbits
.set n, 0
.rept 20000
.long 9
.value 4
.long many + 7 * n
.byte 8
.uleb128 1; .byte 0x0c
.set n, n + 1
.endr
` + unit(langC, integer+returns("int"))},
	{name: "an abbreviation of 60,000 attributes", source: exported + abbreviations + `
.section .debug_abbrev
wide:
.uleb128 1; .uleb128 0x11; .byte 0
.rept 60000
.uleb128 0x3f; .uleb128 0x19
.endr
.byte 0, 0
.byte 0
.section .debug_info,"",@progbits
.rept 20000
.long 8
.value 4
.long wide
.byte 8
.uleb128 1
.endr
` + unit(langC, integer+returns("int"))},
	{name: "a reference outside of the unit", lost: true, source: exported + abbreviations +
		unit(langC, integer+".uleb128 2; .asciz \"f\"; .quad f; .quad 1; .long 0x7fffffff\n")},
	{name: "a reference into an entry", source: exported + abbreviations +
		unit(langC, integer+".uleb128 2; .asciz \"f\"; .quad f; .quad 1; .long int + 2 - unit\n")},
	{name: "an abbreviation that is not there", lost: true, source: exported + abbreviations +
		unit(langC, ".uleb128 99\n"+integer+returns("int"))},
	{name: "a unit that is longer than the section", lost: true, source: exported +
		abbreviations + `
.section .debug_info,"",@progbits
unit:
.long 0x7ffffff0
.value 4
.long abbrevs
.byte 8
.uleb128 1; .byte 0x0c
` + integer + returns("int")},
	{name: "a version that does not exist", lost: true, source: exported + abbreviations + strings.
		Replace(unit(langC, integer+returns("int")), ".value 4", ".value 77", 1)},
	{name: "abbreviations outside of the section", lost: true, source: exported + abbreviations +
		strings.Replace(unit(langC, integer+returns("int")), ".long abbrevs", ".long 0x7ffffff0", 1)},
	{name: "a name without an end", lost: true, source: exported + abbreviations +
		unit(langC, integer+returns("int")+".uleb128 4; .fill 1000000, 1, 'a'\n")},
	{name: "a number of 1,000 bytes", lost: true, source: exported + abbreviations +
		unit(langC, ".fill 1000, 1, 0x80\n"+integer+returns("int"))},
	{name: "no abbreviations", lost: true, source: exported + `
.section .debug_abbrev,"",@progbits
abbrevs:
` + unit(langC, integer+returns("int"))},
}

// TestHostileDebugInformation compares builds with this debug information. Whether a break is
// found may depend on limits, but the result comes in time, and never depends on types that were
// not read.
func TestHostileDebugInformation(t *testing.T) {
	gcc := needs.Program(t, "gcc", "gcc", "debug information is not made")
	compat := plainBuild(t)
	for _, c := range debugCases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			build := func(name, source string) string {
				file := filepath.Join(dir, name)
				if err := os.WriteFile(file+".s", []byte(source), 0o600); err != nil {
					t.Fatal(err)
				}
				out, err := exec.Command(gcc, "-shared", "-nostdlib", "-Wl,-soname,libf.so.1",
					"-o", file, file+".s").CombinedOutput()
				if err != nil {
					t.Fatalf("%v\n%.2000s", err, out)
				}
				return file
			}
			old := build("old.so", c.source)
			changed := build("new.so", strings.Replace(c.source, ".byte 4, 5", ".byte 8, 5", 1))
			cmd := exec.Command(compat, "diff", old, changed, "--format", "json")
			stdout, code := runHostile(t, cmd)
			t.Logf("exit code %d, %s", code, brief(stdout))
			if code == 2 {
				return // the files are listed as not compared
			}
			var r struct {
				Verdict  string
				Evidence map[string]string
			}
			if err := json.Unmarshal([]byte(stdout), &r); err != nil {
				t.Fatal(err)
			}
			if c.lost && r.Evidence["old"] == "dwarf" && r.Evidence["new"] == "dwarf" {
				t.Errorf("verdict %s with the evidence of types that cannot be read", r.Verdict)
			}
		})
	}
}
