package main

import (
	"archive/zip"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/klauspost/compress/flate"
)

// floor inflates the ELF members of a wheel and drops the bytes, which every check has to do at
// least.
func floor(wheel string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	z.RegisterDecompressor(zip.Deflate, flate.NewReader)
	buf := make([]byte, 256<<10)
	for _, m := range z.File {
		r, err := m.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
		var head [4]byte
		if _, err = io.ReadFull(r, head[:]); err == nil && string(head[:]) == "\x7fELF" {
			_, err = io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{r}, buf)
		}
		if err = errors.Join(err, r.Close()); err != nil && !errors.Is(err, io.EOF) &&
			!errors.Is(err, io.ErrUnexpectedEOF) {
			return fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return nil
}

// wheels compares compat check with the floor, and with a second check of the same file.
func wheels(out io.Writer, compat string, files []string, rounds int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	home, err := os.MkdirTemp("", "compat-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	for _, name := range []string{"XDG_CACHE_HOME", "COMPAT_DATA"} {
		if err := os.Setenv(name, home); err != nil {
			return err
		}
	}
	fmt.Fprintf(
		out,
		"best of %d rounds, without an index; ratio: CPU by that of inflating the ELF "+
			"members\n\n%-28.28s %-14s %9s %9s %9s %7s\n",
		rounds,
		"wheel",
		"what",
		"CPU s",
		"wall s",
		"RSS MiB",
		"ratio",
	)
	for _, f := range files {
		tools := []tool{
			{"inflate", []string{self, "-floor"}},
			{"check", []string{compat, "check", "--format", "json", "--no-cache"}},
			{"check again", []string{compat, "check", "--format", "json"}},
		}
		best := make([]cost, len(tools))
		for round := range rounds + 1 { // the first one fills the caches
			for i, t := range tools {
				c, err := run(t, []string{f})
				if err != nil {
					return err
				}
				if round == 1 || round > 1 && c.cpu < best[i].cpu {
					best[i] = c
				}
			}
		}
		for i, t := range tools {
			row(out, fmt.Sprintf("%.28s", filepath.Base(f)), t.name, best[i], best[0])
		}
	}
	fmt.Fprintln(out)
	return nil
}
