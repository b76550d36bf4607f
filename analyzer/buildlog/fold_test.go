package buildlog

import (
	"strings"
	"testing"
)

// foldAt breaks lines after n columns.
func foldAt(text string, n int) string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		for len(l) > n {
			out, l = append(out, l[:n]), l[n:]
		}
		out = append(out, l)
	}
	return strings.Join(out, "\n")
}

// foldWords breaks lines between words.
func foldWords(text string, n int) string {
	var out []string
	for l := range strings.SplitSeq(text, "\n") {
		line := ""
		for _, w := range strings.Split(l, " ") {
			if line != "" && len(line)+1+len(w) > n {
				out, line = append(out, line), ""
			}
			if line != "" {
				line += " "
			}
			line += w
		}
		out = append(out, line)
	}
	return strings.Join(out, "\n")
}

// A folded text has the same first message, at the line where it begins.
func TestFolded(t *testing.T) {
	for _, text := range []string{
		"./meter: error while loading shared libraries: libgain.so.2: cannot open shared object " +
			"file: No such file or directory\n",
		"ERROR: ld.so: object '/opt/lib/libturbo.so.2' from LD_PRELOAD cannot be preloaded " +
			"(cannot open shared object file): ignored.\n",
		"Traceback (most recent call last):\n  File \"run.py\", line 1, in <module>\n    import gain\n" +
			"ImportError: /lib64/libc.so.6: version `GLIBC_2.34' not found (required by " +
			"/usr/lib/python3.11/site-packages/gain/_core.cpython-311-x86_64-linux-gnu.so)\n",
		"java.lang.UnsatisfiedLinkError: /opt/app/native/libgain.so: libmeter.so.3: cannot open " +
			"shared object file: No such file or directory\n",
		"/usr/bin/ld: gain.o: relocation R_X86_64_PC32 against symbol `wave_table' can not be used " +
			"when making a shared object; recompile with -fPIC\n",
	} {
		want, err := Read(strings.NewReader(text))
		if err != nil || len(want.Diagnoses) == 0 {
			t.Fatalf("%s: %+v %v", text, want, err)
		}
		w := want.Diagnoses[0]
		for name, folded := range map[string]string{
			"80 columns": foldAt(text, 80), "100 columns": foldAt(text, 100),
			"CRLF":  strings.ReplaceAll(foldAt(text, 80), "\n", "\r\n"),
			"words": foldWords(text, 80),
		} {
			got, err := Read(strings.NewReader(folded))
			if err != nil || len(got.Diagnoses) == 0 {
				t.Errorf("%s:\n%s\n%+v %v", name, folded, got.Diagnoses, err)
				continue
			}
			g := got.Diagnoses[0]
			if g.Class != w.Class || g.Symbol != w.Symbol || g.Version != w.Version || g.Line != w.Line {
				t.Errorf("%s:\n%s\n%+v, want %+v", name, folded, g, w)
			}
			if got.Lines != strings.Count(folded, "\n") {
				t.Errorf("%s: %d lines", name, got.Lines)
			}
		}
	}
}

// A line of the largest width is not continued by the next one if nothing shows that the text was
// folded.
func TestNotFolded(t *testing.T) {
	text := "collecting gain\n" +
		"ImportError: /opt/gain/_core.so: undefined symbol: gain_of_all_meters\n" +
		"make: *** [Makefile:3: test] Error 1\n"
	got, err := Read(strings.NewReader(text))
	if err != nil || len(got.Diagnoses) != 1 || got.Diagnoses[0].Symbol != "gain_of_all_meters" ||
		got.Diagnoses[0].Line != 2 {
		t.Errorf("%+v %v", got.Diagnoses, err)
	}
	text = "/usr/bin/ld.gold: error: " + strings.Repeat("m", 55) + ".o: cannot make copy relocation " +
		"for protected symbol 'dial_pos', defined in ./libdial.so\ncollect2: error: ld returned 1\n"
	text = text[:25] + text[25+strings.IndexByte(text, '\n')-100:] // the line has 100 columns
	got, err = Read(strings.NewReader(text))
	if err != nil || len(got.Diagnoses) != 1 || got.Diagnoses[0].Library != "./libdial.so" {
		t.Errorf("%s\n%+v %v", text, got.Diagnoses, err)
	}
	long := strings.Repeat("x", maxFolded) + "\n" + foldAt("./meter: error while loading shared "+
		"libraries: libgain.so.2: cannot open shared object file: No such file or directory\n", 80)
	if got, err := Read(strings.NewReader(long)); err != nil || len(got.Diagnoses) != 0 {
		t.Errorf("a long log: %+v %v", got.Diagnoses, err)
	}
}
