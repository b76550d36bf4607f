package analyzer_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/elfobj"
)

func TestJudgingEndsWithItsContext(t *testing.T) {
	o, err := elfobj.Parse("elf x86_64\nsoname libx.so.1\nneeded libc.so.6\n")
	if err != nil {
		t.Fatal(err)
	}
	data, err := elfobj.Write(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var ran []string
	rule := func(id string, check func()) *analyzer.Rule {
		return &analyzer.Rule{ID: id, Severity: analyzer.Error, Check: func(*analyzer.Pass) { ran = append(ran, id); check() }}
	}
	a := analyzer.New([]*analyzer.Rule{rule("first", cancel), rule("second", func() {})})
	_, err = a.Check(ctx, []analyzer.Input{{Name: "libx.so.1", Content: bytes.NewReader(data), Size: int64(len(data))}}, analyzer.Options{})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v, want the context's", err)
	}
	if len(ran) != 1 || ran[0] != "first" {
		t.Errorf("rules that ran: %v, want only the one that was at work", ran)
	}
}
