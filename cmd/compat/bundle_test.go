package main

import (
	"strings"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/fix"
)

// The other cases are in testdata/script/fix_bundle.txtar.
func TestBundlerIsNotInstalled(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	tools := &bundlers{}
	for with := range installing {
		_, err := tools.run(t.Context(), fix.Bundling{With: with}, analyzer.Input{Name: "a.whl"})
		if err == nil || !strings.Contains(err.Error(), string(with)+" is not installed; run pip install") {
			t.Error(with, err)
		}
	}
	if err := tools.Close(); err != nil || tools.dir != "" {
		t.Error(tools.dir, err)
	}
}

func TestTail(t *testing.T) {
	var said tail
	for range 1000 {
		_, _ = said.Write([]byte("INFO: something\n"))
	}
	_, _ = said.Write([]byte("ValueError: not\x1b[31m located\n\n"))
	if got := said.last(); got != "ValueError: not␛[31m located" || len(said.text) > mostKept {
		t.Errorf("%q", got)
	}
	if got := (&tail{}).last(); got != "" {
		t.Errorf("%q", got)
	}
}
