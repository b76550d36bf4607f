package main

import (
	"io"
	"runtime/debug"
	"strings"
)

// Exit codes of every command.
const (
	exitOK           = 0
	exitIncompatible = 1
	exitInterrupted  = 130 // as a shell reports SIGINT
	exitUsage        = 2   // wrong usage, or an artifact could not be checked
)

// environment is the surroundings of the process: variables and standard streams.
type environment struct {
	Getenv func(name string) (value string, set bool)
	// Environ lists the variables as NAME=VALUE; nil = they are not listed.
	Environ func() []string
	In      io.Reader
	Out     io.Writer
	Err     io.Writer
	Program string // with which it was started; "" = compat
}

// exit ends the program with a code. A nil error prints nothing.
type exit struct {
	code int
	err  error
}

func (e exit) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e exit) Unwrap() error { return e.err }

// release, commit and date are set by the linker in builds that have no repository of their own,
// such as packages and images (-ldflags "-X main.release=1.2.3"). date is RFC 3339.
var release, commit, date string

// version returns the version without a leading "v": the linker's, or else the module's, which is
// a pseudo-version between two tags. It is that of the Makefile if the sources are unknown.
func version() string {
	if release != "" {
		return strings.TrimPrefix(release, "v")
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || !strings.HasPrefix(info.Main.Version, "v") { // "(devel)"
		return "0.0.0.dev0"
	}
	return strings.TrimPrefix(info.Main.Version, "v")
}

// versionLine returns the version with what it was built from: "compat 1.2.3 (commit 0a5618112345,
// 2026-11-22)".
func versionLine() string {
	from := map[string]string{"vcs.revision": commit, "vcs.time": date}
	if info, ok := debug.ReadBuildInfo(); ok && commit == "" {
		for _, s := range info.Settings {
			from[s.Key] = s.Value
		}
	}
	var parts []string
	if c := from["vcs.revision"]; c != "" {
		parts = append(parts, "commit "+c[:min(12, len(c))])
	}
	if from["vcs.modified"] == "true" {
		parts = append(parts, "modified")
	}
	if day, _, _ := strings.Cut(from["vcs.time"], "T"); day != "" {
		parts = append(parts, day)
	}
	line := "compat " + version()
	if len(parts) > 0 {
		line += " (" + strings.Join(parts, ", ") + ")"
	}
	return line
}
