package main

import (
	"io"
	"runtime/debug"
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
	In     io.Reader
	Out    io.Writer
	Err    io.Writer
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

// version returns the module's version for a binary built by go install or from a tag, else the
// commit.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
