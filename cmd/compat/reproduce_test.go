package main

import (
	"strings"
	"testing"
)

func TestReproduceCommand(t *testing.T) {
	server, _, _, _ := pinsIndex(t)
	t.Chdir(t.TempDir())
	const name = "widget-1.0-cp312-cp312-manylinux_2_28_x86_64.whl"
	wheel := madeWheel(t, "widget", "1.0", []string{"nvidia-nvjitlink-cu12<12.9"},
		"widget/_w.cpython-312-x86_64-linux-gnu.so", jitUser)
	files := []string{
		name, string(wheel),
		"requirements.txt", "widget==1.0\nnvidia-nvjitlink-cu12==12.8.93\n",
		"good-1.0-py3-none-any.whl", string(madeWheel(t, "good", "1.0", nil, "good/__init__.py", "")),
	}
	const message = "# it prints: ImportError: …/_w.cpython-312-x86_64-linux-gnu.so: undefined symbol: " +
		"__nvJitLinkGetErrorLogSize_12_9, version libnvJitLink.so.12\n"
	for _, test := range []struct {
		args string
		code int
		want []string // parts of the output, or of the error
	}{
		{name, 0, []string{
			"# cause 1 of 2: ",
			"docker run --rm -i -v .:/dist -w /dist python:3.12-slim-bookworm sh <<< ",
			"reproduce/bin/pip install ./" + name + " nvidia-nvjitlink-cu12==12.8.93 && " +
				"reproduce/bin/python -c 'import widget._w'\n", message,
		}},
		{"--cause 1 requirements.txt", 0, []string{
			"reproduce/bin/pip install widget==1.0 nvidia-nvjitlink-cu12==12.8.93 && ", message,
		}},
		{"--cause 2 " + name, exitIncompatible, []string{"shows cause 2: RECORD: "}},
		{"--cause 3 " + name, exitUsage, []string{"--cause 3: the report has 2 causes"}},
		{"--cause other " + name, exitUsage, []string{`no cause "other" was found`}},
		{"good-1.0-py3-none-any.whl", exitIncompatible, []string{"no message of a loader"}},
		{"", exitUsage, []string{"give at least one PATH"}},
	} {
		code, out, errs := runIn(t, server.URL, files, append([]string{"reproduce"},
			strings.Fields(test.args)...)...)
		if code != test.code {
			t.Errorf("%s: exit %d", test.args, code)
		}
		for _, part := range test.want {
			if !strings.Contains(out+errs, part) {
				t.Errorf("%s: no %q in\n%s%s", test.args, part, out, errs)
			}
		}
	}
}
