package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"
)

// watchPause is the time between two looks at the watched files. They are checked once they have
// not changed for that long, because a build writes a wheel in several steps.
const watchPause = 500 * time.Millisecond

// watch checks the paths, and again whenever one of their files changes, until ctx ends. Errors of
// a check are printed, and do not end it.
func watch(ctx context.Context, env environment, f checkFlags, paths []string) error {
	checked, last := "", ""
	for first := true; ; first = false {
		now := stamp(paths)
		if first && now == "" {
			fmt.Fprintf(env.Err, "no file yet; watching %s (Ctrl-C ends)\n", strings.Join(paths, " "))
		}
		if now != "" && now != checked && (first || now == last) {
			if checked != "" {
				fmt.Fprintln(env.Out)
			}
			checked = now
			if err := check(ctx, env, f, paths); err != nil && err.Error() != "" {
				fmt.Fprintf(env.Err, "compat: %v\n", err)
			}
			fmt.Fprintf(env.Err, "%s: watching %s (Ctrl-C ends)\n",
				time.Now().Format(time.TimeOnly), strings.Join(paths, " "))
		}
		last = now
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(watchPause):
		}
	}
}

// stamp returns a text that differs if a file of the paths was added, changed or removed. It is ""
// if there are none.
func stamp(paths []string) string {
	var b strings.Builder
	for _, pattern := range paths {
		matches, err := filepath.Glob(pattern)
		if err != nil || len(matches) == 0 {
			matches = []string{pattern}
		}
		for _, path := range matches {
			_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					var info fs.FileInfo
					if info, err = d.Info(); err == nil {
						fmt.Fprintf(&b, "%q %d %d\n", name, info.Size(), info.ModTime().UnixNano())
					}
				}
				if errors.Is(err, fs.ErrNotExist) { // it was removed meanwhile
					err = nil
				}
				return err
			})
		}
	}
	return b.String()
}
