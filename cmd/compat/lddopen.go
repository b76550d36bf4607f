package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/compat-app/compat/analyzer/dynlink"
)

// lddDocument is the JSON of one file.
type lddDocument struct {
	*dynlink.Answer
	Opened []opening `json:"opened,omitempty"` // for each --open
}

// opening is the result of dlopen for one library.
type opening struct {
	Library string `json:"library"` // as given
	*dynlink.Answer
}

// openAll opens the libraries of --open, in order.
func openAll(p *dynlink.Process, o lddOptions) ([]opening, error) {
	var out []opening
	for _, arg := range o.open {
		name, how, err := openMode(arg)
		if err != nil {
			return nil, exit{exitUsage, err}
		}
		if strings.Contains(name, "/") {
			if name, err = inRoot(o.root, name); err != nil {
				return nil, err
			}
		}
		out = append(out, opening{escape(arg, false), printable(p.Open(name, how, ""))})
	}
	return out, nil
}

// openMode splits [MODE=]NAME.
func openMode(arg string) (name string, how dynlink.Mode, err error) {
	words, name, ok := strings.Cut(arg, "=")
	if !ok || strings.Contains(words, "/") {
		return arg, how, nil
	}
	for _, w := range strings.Split(words, ",") {
		switch w {
		case "global":
			how.Global = true
		case "lazy":
			how.Lazy = true
		case "deepbind":
			how.DeepBind = true
		case "noload":
			how.NoLoad = true
		default:
			return "", how, fmt.Errorf(
				"--open %s: unknown mode %q; use global, lazy, deepbind or noload, or ./%s for a file name",
				arg,
				w,
				arg,
			)
		}
	}
	return name, how, nil
}

func writeOpened(w io.Writer, opened []opening) {
	for _, x := range opened {
		fmt.Fprintf(w, "open %s:\n", shown(x.Library))
		writeMissing(w, x.Answer)
		for _, l := range x.Objects {
			fmt.Fprintf(w, "\t%s\n", found(l))
		}
	}
}

// found returns the line that ldd prints for a loaded library.
func found(l dynlink.LoadedObject) string {
	if l.Path == "" { // part of Windows or Python
		return shown(l.Name) + " (" + shown(l.FoundBy) + ")"
	}
	if l.Name == l.Path {
		return shown(l.Path)
	}
	return shown(l.Name) + " => " + shown(l.Path)
}
