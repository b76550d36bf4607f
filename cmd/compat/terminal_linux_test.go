package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/compat-app/compat/internal/test/needs"
)

// openTerminal opens a new pseudo-terminal: what is written to terminal is read from screen.
func openTerminal(t *testing.T) (screen, terminal *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		needs.Missing(t, fmt.Sprintf("the text for a terminal is not tested: %v", err))
	}
	t.Cleanup(func() { screen.Close() })
	if err := unix.IoctlSetPointerInt(int(screen.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(screen.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return screen, terminal
}

// Diagnoses are text on a terminal; testdata/script/explain.txtar has the other cases.
func TestExplainOnATerminal(t *testing.T) {
	log := filepath.Join(t.TempDir(), "build.log")
	text := []byte("ld: x.o: undefined reference to `dlopen'\n")
	if err := os.WriteFile(log, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ format, want string }{
		{"", "line 1: "}, {"--format=json", "{\r\n"}, {"--format=text", "line 1: "},
	} {
		screen, terminal := openTerminal(t)
		shown := make(chan string)
		go func() {
			text, _ := io.ReadAll(screen) // ends with an error when the terminal is closed
			shown <- string(text)
		}()
		args := strings.Fields("explain " + c.format + " " + log)
		code := run(context.Background(), args,
			environment{Getenv: os.LookupEnv, Out: terminal, Err: terminal})
		terminal.Close()
		if text := <-shown; code != exitOK || !strings.HasPrefix(text, c.want) {
			t.Errorf("%s: exit %d\n%s", c.format, code, text)
		}
	}
}

// A command that reads a terminal says so, and ends when it is interrupted.
func TestStandardInputIsATerminal(t *testing.T) {
	for _, args := range []string{"explain -", "check -"} {
		_, terminal := openTerminal(t)
		ctx, interrupt := context.WithCancel(context.Background())
		said, done := make(messages, 10), make(chan int)
		go func() {
			done <- run(ctx, strings.Fields(args),
				environment{Getenv: os.LookupEnv, In: terminal, Out: io.Discard, Err: said})
		}()
		if got := <-said; !strings.HasPrefix(got, "compat: reading standard input; ") {
			t.Errorf("%s: %q", args, got)
		}
		interrupt()
		if code := <-done; code != exitInterrupted {
			t.Errorf("%s: exit %d", args, code)
		}
		terminal.Close()
	}
}

// messages is a writer that sends each text.
type messages chan string

func (s messages) Write(p []byte) (int, error) {
	s <- string(p)
	return len(p), nil
}
