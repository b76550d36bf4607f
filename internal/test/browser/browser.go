// Package browser opens pages in a headless Chromium, measures them and takes pictures. Only
// tests import it.
//
// It uses the DevTools protocol over a pipe, so no port is open, and no library is needed for a
// dozen commands. The browser can only connect to this machine, and ends with its test.
//
//	b := browser.Start(t)
//	p := b.Open("http://127.0.0.1:8080/", browser.View{Width: 400, Dark: true})
//	p.Eval("document.title", &title)
package browser

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/needs"
)

// patience is the timeout for starting a browser on a busy machine.
const patience = 2 * time.Minute

// Browser is a running Chromium.
type Browser struct {
	t  testing.TB
	in *os.File

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	events  map[string]chan message // by "session method"
	seen    map[string][]string     // by session: forbidden scripts and requests
}

type message struct {
	ID      int             `json:"id,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// Start starts Chromium. If it is not installed the test is skipped; with CI=true it fails.
func Start(t testing.TB) *Browser {
	t.Helper()
	path := needs.Program(t, "chromium", "chromium", "pages are not looked at in a browser")
	dir, err := os.MkdirTemp("", "compat-browser-")
	if err != nil {
		t.Fatal(err)
	}
	inRead, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, outWrite, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(
		path,
		"--headless",
		"--no-sandbox",
		"--disable-gpu",
		"--disable-dev-shm-usage",
		"--no-first-run",
		"--disable-background-networking",
		"--disable-component-update",
		"--disable-sync",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
		"--user-data-dir="+dir,
		"--remote-debugging-pipe",
		"about:blank",
	)
	cmd.ExtraFiles = []*os.File{
		inRead,
		outWrite,
	} // descriptors 3 and 4, used by --remote-debugging-pipe
	cmd.Env = append(os.Environ(), "HOME="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", path, err)
	}
	_, _ = inRead.Close(), outWrite.Close()
	b := &Browser{
		t:       t,
		in:      in,
		answers: map[int]chan message{},
		events:  map[string]chan message{},
		seen:    map[string][]string{},
	}
	read := make(chan struct{})
	go func() { // ends with the browser
		defer close(read)
		b.read(out)
	}()
	t.Cleanup(func() {
		_, _ = in.Write(append([]byte(`{"id":999999,"method":"Browser.close"}`), 0))
		kill := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Wait() // it may have been killed
		kill.Stop()
		_ = in.Close()
		<-read
		_ = out.Close()
		for range 50 { // its helper processes end later, and write until then
			if os.RemoveAll(dir) == nil {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
	})
	return b
}

// read dispatches the messages of the browser until it ends.
func (b *Browser) read(out *os.File) {
	r := bufio.NewReaderSize(out, 1<<20)
	for {
		line, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line[:len(line)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		switch {
		case m.ID != 0 && b.answers[m.ID] != nil:
			b.answers[m.ID] <- m
			delete(b.answers, m.ID)
		case m.Method == "Page.javascriptDialogOpening",
			m.Method == "Runtime.exceptionThrown",
			m.Method == "Runtime.consoleAPICalled",
			// A page with status 404 is logged too; Seen.Loaded has what is loaded from elsewhere.
			m.Method == "Log.entryAdded" && !strings.Contains(string(m.Params), `"source":"network"`):
			b.seen[m.Session] = append(b.seen[m.Session], m.Method+" "+string(m.Params))
		case b.events[m.Session+" "+m.Method] != nil:
			b.events[m.Session+" "+m.Method] <- m
			delete(b.events, m.Session+" "+m.Method)
		}
		b.mu.Unlock()
	}
}

// call runs a command and decodes its result, unless to is nil.
func (b *Browser) call(session, method string, params any, to any) {
	b.t.Helper()
	data, err := json.Marshal(params)
	if err != nil {
		b.t.Fatal(err)
	}
	b.mu.Lock()
	b.last++
	answer := make(chan message, 1)
	b.answers[b.last] = answer
	line, err := json.Marshal(message{ID: b.last, Session: session, Method: method, Params: data})
	b.mu.Unlock()
	if err == nil {
		_, err = b.in.Write(append(line, 0))
	}
	if err != nil {
		b.t.Fatalf("tell the browser %s: %v", method, err)
	}
	select {
	case m := <-answer:
		if m.Error != nil {
			b.t.Fatalf("the browser on %s: %s", method, m.Error.Message)
		}
		if to != nil {
			if err := json.Unmarshal(m.Result, to); err != nil {
				b.t.Fatalf("the browser on %s: %v", method, err)
			}
		}
	case <-time.After(patience):
		b.t.Fatalf("the browser does not answer %s", method)
	}
}

// event returns a channel for the next event of a kind.
func (b *Browser) event(session, method string) chan message {
	b.mu.Lock()
	defer b.mu.Unlock()
	c := make(chan message, 1)
	b.events[session+" "+method] = c
	return c
}
