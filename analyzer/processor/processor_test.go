package processor

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer/elfobj"
	"github.com/compat-app/compat/analyzer/elfobj/elftest"
)

// Instructions, as hex.
const (
	vzeroupper = "c5f877"       // AVX
	vpxorYMM   = "c5fdefc0"     // AVX2: vpxor %ymm0, %ymm0, %ymm0
	vmovupsZMM = "62f17c481000" // AVX-512: vmovups (%rax), %zmm0
	success    = "b801000000c3" // mov $1, %eax; ret
	failure    = "31c0c3"       // xor %eax, %eax; ret
	cpuid      = "31c00fa2"     // xor %eax, %eax; cpuid
	testRSI    = "4885f6"       // test %rsi, %rsi
	skipThree  = "7403"         // je .+3
	skipTwo    = "7402"
)

// TestOf checks the code of PyInit_m.
func TestOf(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       Level
	}{
		{"nothing new", success, Baseline},
		{"AVX", vzeroupper + success, AVX},
		{"AVX2", vpxorYMM + success, AVX2},
		{"AVX-512", vmovupsZMM + success, AVX512},
		{"the highest of a path", vzeroupper + vpxorYMM + vzeroupper + success, AVX2},
		{"the code reads first what the processor has", cpuid + vzeroupper + success, Baseline},
		{"and with XGETBV", "31c90f01d0" + vzeroupper + success, Baseline},
		{"the code reads it later", vzeroupper + cpuid + success, AVX},
		{"only on one path", testRSI + skipThree + vzeroupper + success, Baseline},
		{"on both paths", testRSI + "7409" + vzeroupper + success + vpxorYMM + success, AVX},
		{"only where the import succeeds", testRSI + skipThree + failure + vzeroupper + success, AVX},
		// test %rsi, %rsi; je; vzeroupper; mov %rsi, %rax; ret: 0 is returned on the other path
		{"a value that is 0", testRSI + skipThree + vzeroupper + "4889f0c3", AVX},
		{"a value that was stored", "56" + testRSI + skipThree + vzeroupper + "58c3", AVX}, // push, pop
		{"the import never succeeds", vzeroupper + failure, Baseline},
		{"a known condition", "31c085c0" + "7409" + success + vzeroupper + vzeroupper + success, AVX},
		// mov $5, %ecx; 1: dec %ecx; jne 1b
		{"a loop", "b905000000ffc975fc" + vzeroupper + success, AVX},
		// 1: test %rsi, %rsi; je 2f; dec %ecx; jne 1b; 2:
		{"a loop that may end earlier", "b905000000" + testRSI + "7404ffc975f7" + vzeroupper + success, AVX},
		{"a loop without an end", "ebfe", Baseline},
		// call 1f; mov $1, %eax; ret; 1: vzeroupper; ret
		{"a function", "e806000000" + success + vzeroupper + "c3", AVX},
		// push %rbx; mov $1, %ebx; call 1f; mov %rbx, %rax; pop %rbx; ret; 1: xor %ebx, %ebx; ret
		{"a function that preserves registers", "53bb01000000e805000000" + "4889d85bc3" + "31dbc3", Baseline},
		// call itself
		{"a function without an end", "e8fbffffff" + vzeroupper + success, AVX},
		{"a jump that is not known", "ffe0" + vzeroupper + success, Baseline},
		{"a function that is not known", "ffd0" + vzeroupper + success, AVX}, // call *%rax
		// and $-64, %rsp; sub $64, %rsp; mov $1, %eax; leave; ret, after push %rbp; mov %rsp, %rbp
		{"an aligned stack", "554889e54883e4c04883ec40" + vzeroupper + "b801000000c9c3", AVX},
		{"UD2", testRSI + skipTwo + "0f0b" + vzeroupper + success, AVX},
		{"no instruction", "06" + vzeroupper + success, Baseline},
		{"ENDBR64", "f30f1efa" + vzeroupper + success, AVX},
		{"the end of the code", vzeroupper + "90", AVX},
	} {
		need := of(t, "elf x86_64\nexport PyInit_m\nsection .text "+c.code)
		if need.Level != c.want || (need.Level != Baseline && need.Entry != "PyInit_m") {
			t.Errorf("%s: %v in %s, want %v", c.name, need.Level, need.Entry, c.want)
		}
	}
	if need := of(t, "elf x86_64\nexport f\nsection .text "+vzeroupper+success); need.Level != Baseline {
		t.Errorf("no module: %v", need.Level)
	}
	need := of(t, "elf x86_64\nexport f\nsection .init "+vpxorYMM+"c3")
	if need.Level != AVX2 || need.Entry != "an initializer" {
		t.Errorf("a library: %v in %s", need.Level, need.Entry)
	}
	program := "elf x86_64 exec\ninterp /lib64/ld-linux-x86-64.so.2\nsection .text "
	if need := of(t, program+vzeroupper+"f4"); need.Level != Baseline {
		t.Errorf("a program that stops: %v", need.Level)
	}
	if need := of(t, program+vzeroupper+"ffe0"); need.Level != AVX || need.Entry != "_start" {
		t.Errorf("a program: %v in %s", need.Level, need.Entry)
	}
}

// TestExecSlots checks that the functions of Py_mod_exec are followed, also if their table is near
// the definition that CPython changes.
func TestExecSlots(t *testing.T) {
	const code, call = 0x18, 13 // where the function begins, and the length of the two instructions
	text := make([]byte, code)
	copy(text, []byte{0x48, 0x8d, 0x3d, 0, 0, 0, 0, 0xff, 0x15, 0, 0, 0, 0}) // lea def, %rdi; call *got
	copy(text[call:], fromHex(t, success))
	text = append(text, fromHex(t, vpxorYMM+failure)...)
	o := &elfobj.Object{
		Exports: elfobj.NewExports(elfobj.Export{Name: "PyInit_m", Kind: "func"},
			elfobj.Export{Name: "def", Kind: "object", Size: 256}),
		Sections: []elfobj.Section{{Name: ".text", Data: text}},
	}
	_, _, places := written(t, o)
	begin, def := places[0].Addr, places[1].Addr
	got, slots := def+128, def+160
	binary.LittleEndian.PutUint32(text[3:], uint32(def-begin-7))
	binary.LittleEndian.PutUint32(text[9:], uint32(got-begin-call))
	object, c, _ := written(t, o)
	need, err := relocated(object, c, map[uint64]elfobj.Target{
		got:       {Symbol: "PyModuleDef_Init"},
		def + 72:  {Addr: slots},
		slots:     {Addr: 2}, // Py_mod_exec
		slots + 8: {Addr: begin + code},
	})
	if err != nil || need.Level != AVX2 || need.Entry != "Py_mod_exec" {
		t.Errorf("%v in %q, %v", need.Level, need.Entry, err)
	}
}

// TestChangedData checks that data is not known to a module after an initializer has changed it, or
// has asked what the processor has.
func TestChangedData(t *testing.T) {
	const store, compare = 7, 7 // lengths of the instructions with the address
	for name, test := range map[string]struct {
		init string
		want Level
	}{
		"nothing changes it":        {"c3", AVX},
		"an initializer changes it": {"c6050000000001c3", Baseline}, // movb $1, flag; ret
		"one asks the processor":    {cpuid + "c3", Baseline},
	} {
		init := fromHex(t, test.init)
		// cmpb $0, flag; jne .+3
		text := fromHex(t, "803d0000000000"+"7503"+vzeroupper+success)
		o := &elfobj.Object{
			Exports: elfobj.NewExports(elfobj.Export{Name: "PyInit_m", Kind: "func"},
				elfobj.Export{Name: "flag", Kind: "object", Size: 8}),
			Sections: []elfobj.Section{{Name: ".init", Data: init}, {Name: ".text", Data: text}},
		}
		_, c, places := written(t, o)
		begin, flag := places[0].Addr, places[1].Addr
		initializer, _ := c.Initializers()
		if len(init) > store {
			binary.LittleEndian.PutUint32(init[2:], uint32(flag-initializer-store))
		}
		binary.LittleEndian.PutUint32(text[2:], uint32(flag-begin-compare))
		object, c, _ := written(t, o)
		if need, err := Of(object, c); err != nil || need.Level != test.want {
			t.Errorf("%s: %v in %q, %v; want %v", name, need.Level, need.Entry, err, test.want)
		}
	}
}

// written returns an object as it is read, and the places of its exports.
func written(t *testing.T, o *elfobj.Object) (*elfobj.Object, *elfobj.Contents, []elfobj.Place) {
	t.Helper()
	b, err := elftest.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	object, c, err := elfobj.ReadContents(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	places, err := c.Places()
	if err != nil {
		t.Fatal(err)
	}
	return object, c, places
}

func of(t *testing.T, text string) Need {
	t.Helper()
	b := elftest.File(t, text)
	need, err := read(b)
	if err != nil {
		t.Fatal(err)
	}
	return need
}

func read(b []byte) (Need, error) {
	o, c, err := elfobj.ReadContents(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return Need{}, err
	}
	return Of(o, c)
}

// TestDecodeVector checks lengths and levels with those of GNU objdump.
func TestDecodeVector(t *testing.T) {
	for _, c := range []struct {
		code string
		want Level
	}{
		{"c5f877", AVX},                      // vzeroupper
		{"c5fb100512670c00", AVX},            // vmovsd 0xc6712(%rip),%xmm0
		{"c4e37d18442470 01", AVX},           // vinsertf128 $1,0x70(%rsp),%ymm0,%ymm0
		{"c5fd6f8424 80000000", AVX},         // vmovdqa 0x80(%rsp),%ymm0
		{"c5f970c0ff", AVX},                  // vpshufd $0xff,%xmm0,%xmm0
		{"c5fd70c0ff", AVX2},                 // vpshufd $0xff,%ymm0,%ymm0
		{"c4e27d58c0", AVX2},                 // vpbroadcastd %xmm0,%ymm0
		{"c4e2f198c2", AVX2},                 // vfmadd132pd %xmm2,%xmm1,%xmm0
		{"c4e278f2c1", AVX2},                 // andn %ecx,%eax,%eax
		{"c4e37bf0c105", AVX2},               // rorx $5,%ecx,%eax
		{"c4e37d38c001", AVX2},               // vinserti128 $1,%xmm0,%ymm0,%ymm0
		{"c5f892c8", AVX512},                 // kmovw %eax,%k1
		{"62f17f487f00", AVX512},             // vmovdqu8 %zmm0,(%rax)
		{"62e1fd086e1d142a0000", AVX512},     // vmovq 0x2a14(%rip),%xmm19
		{"62f3f52838f001", AVX512},           // vinserti64x2 $1,%xmm0,%ymm1,%ymm6
		{"62f17c48108480 00010000", AVX512},  // vmovups 0x100(%rax,%rax,4),%zmm0
		{"62f37d48254424 01ff", AVX512},      // vpternlogd $0xff,0x40(%rsp),%zmm0,%zmm0
		{"62f17c48 1004a5 00000000", AVX512}, // vmovups 0x0(,%riz,4),%zmm0
	} {
		b := fromHex(t, c.code)
		v, ok := decodeVector(append(b, make([]byte, 15)...))
		if !ok || v.length != len(b) || v.level != c.want {
			t.Errorf("%s: %d bytes of %v, want %d of %v", c.code, v.length, v.level, len(b), c.want)
		}
		for n := range b {
			if _, ok := decodeVector(b[:n]); ok {
				t.Errorf("%s: %d of its bytes are an instruction", c.code, n)
			}
		}
	}
	for _, code := range []string{"90", "0fa2", "c5", "c4e07d58c0", "62f17c44 10c0 90"} {
		if v, ok := decodeVector(fromHex(t, code)); ok && v.length > len(code)/2 {
			t.Errorf("%s is an instruction", code)
		}
	}
}

// TestDensity checks that only code is followed that uses AVX everywhere.
func TestDensity(t *testing.T) {
	other := bytes.Repeat([]byte{0x48, 0x89, 0xd8}, 500) // mov %rbx, %rax
	vector := fromHex(t, "c5f828c1")                     // vmovaps %xmm1, %xmm0
	sse := fromHex(t, "0f28c1")                          // movaps %xmm1, %xmm0
	for _, c := range []struct {
		name         string
		vectors, sse int
		want         bool
	}{
		{"none", 0, 10, false}, {"all", 10, 0, true}, {"some", 10, 10, false}, {"nearly all", 10, 2, true},
		{"neither", 0, 0, false},
	} {
		var d Density
		for range 100 {
			code := append(bytes.Repeat(vector, c.vectors), bytes.Repeat(sse, c.sse)...)
			_, _ = d.Write(append(code, other...))
		}
		if d.Everywhere() != c.want {
			t.Errorf("%s: %d and %d in %d bytes", c.name, d.vector, d.sse, d.bytes)
		}
	}
}

// TestDensityOfIntegers checks that code with BMI alone counts.
func TestDensityOfIntegers(t *testing.T) {
	var d Density
	_, _ = d.Write(bytes.Repeat(fromHex(t, "c4e2f8f3df48c1e803"), 100)) // blsi %rdi, %rax; shr $3, %rax
	if !d.Everywhere() {
		t.Errorf("%d in %d bytes", d.vector, d.bytes)
	}
}

// FuzzOf checks that the code of an object ends, and that what is found is an instruction of the
// level at the address.
func FuzzOf(f *testing.F) {
	for _, code := range []string{
		vzeroupper + success, testRSI + skipThree + failure + vpxorYMM + success, vmovupsZMM + "e8fbffffff",
		"f3aa66900f05cdab", "554889e54883e4c04883ec40c9c3", "ff24c5000000000f94c00fafc148c1e0054809c0",
	} {
		f.Add(fromHex(f, code))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		if len(code) == 0 || len(code) > 4096 {
			return
		}
		o := &elfobj.Object{
			Exports:  elfobj.NewExports(elfobj.Export{Name: "PyInit_m", Kind: "func"}),
			Sections: []elfobj.Section{{Name: ".text", Data: code}},
		}
		b, err := elftest.Write(o)
		if err != nil {
			t.Fatal(err)
		}
		need, err := read(b)
		if err != nil {
			t.Fatal(err)
		}
		if need.Level == Baseline {
			return
		}
		_, c, _ := elfobj.ReadContents(bytes.NewReader(b), int64(len(b)))
		at := make([]byte, 15)
		at = at[:c.Load(need.Addr, at)]
		if v, ok := decodeVector(at); !ok || v.level != need.Level {
			t.Errorf("%x at %#x is no instruction of %v", at, need.Addr, need.Level)
		}
	})
}

func fromHex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(s, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestBounds checks that loops without an end, of which each step changes or reads much memory,
// stop early.
func TestBounds(t *testing.T) {
	for name, code := range map[string]string{
		// lea (%rip), %rbx; 1: add $4096, %rbx; mov %rbx, %rdi; stosb; jmp 1b
		"stores": "488d1d00000000" + "4881c300100000" + "4889dfaaebf3",
		// the same with mov (%rbx), %rax
		"loads": "488d1d00000000" + "4881c300100000" + "488b03ebf4",
	} {
		_, c, places := written(t, &elfobj.Object{
			Exports:  elfobj.NewExports(elfobj.Export{Name: "PyInit_m", Kind: "func"}),
			Sections: []elfobj.Section{{Name: ".text", Data: fromHex(t, code)}},
		})
		m := newMachine(c, nil)
		need := m.run(places[0].Addr, func(value) bool { return true })
		if need.Level != Baseline || m.touched > maxTouched+pageSize ||
			len(m.log) > maxChanges+pageSize || len(m.pages) > maxPages {
			t.Errorf("%s: %v with %d words, %d changes and %d pages",
				name, need, m.touched, len(m.log), len(m.pages))
		}
	}
}
