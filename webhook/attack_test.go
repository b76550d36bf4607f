package webhook

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/config"
)

// The time of the comparison must not depend on its result: every secret is compared with
// hmac.Equal, and nothing leaves the loop early.
func TestSignatureTimeByConstruction(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "signature.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var signed *ast.FuncDecl
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == "signed" {
			signed = f
		}
	}
	if signed == nil {
		t.Fatal("there is no func signed")
	}
	loops, equals := 0, 0
	ast.Inspect(signed.Body, func(n ast.Node) bool {
		loop, ok := n.(*ast.RangeStmt)
		if !ok {
			return true
		}
		loops++
		ast.Inspect(loop.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ReturnStmt, *ast.BranchStmt:
				t.Error("the loop over the secrets can end before the last one")
			case *ast.BinaryExpr:
				if n.Op == token.EQL || n.Op == token.NEQ {
					t.Error("something is compared with == or !=")
				}
			case *ast.SelectorExpr:
				if pkg, ok := n.X.(*ast.Ident); ok && pkg.Name == "bytes" {
					t.Error("bytes." + n.Sel.Name + " may stop at the first difference")
				} else if ok && pkg.Name == "hmac" && n.Sel.Name == "Equal" {
					equals++
				}
			}
			return true
		})
		return false
	})
	if loops != 1 || equals != 1 {
		t.Errorf("%d loops and %d calls of hmac.Equal, want one of each", loops, equals)
	}
}

const (
	// githubWaits is how long GitHub waits for the answer to a delivery.
	githubWaits = 10 * time.Second
	// mostMemory is the limit for unverified bodies and one signed delivery.
	mostMemory = 256 << 20
)

// Bodies of unverified senders that never end use at most maxUnverified bytes and do not delay
// large deliveries from GitHub.
func TestUnverifiedBodiesAreBounded(t *testing.T) {
	q := &memoryQueue{}
	server := httptest.NewServer(New(Options{Secrets: config.NewSecrets("s3cret"), Queue: q}))
	defer server.Close()
	const strangers, sent = 60, 2 << 20 // more than maxUnverified in total
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var all sync.WaitGroup
	var ends []*io.PipeWriter
	for range strangers {
		r, w := io.Pipe()
		ends = append(ends, w)
		all.Go(func() {
			req, err := http.NewRequest(http.MethodPost, server.URL+"/webhook", r)
			if err != nil {
				t.Error(err)
				return
			}
			req.ContentLength = 20 << 20
			req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			if res, err := http.DefaultClient.Do(req); err == nil {
				res.Body.Close()
			}
		})
		_, _ = w.Write(make([]byte, sent))
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2*maxUnverified {
		t.Errorf("%d bodies of %d MiB take %d MiB", strangers, sent>>20, grown>>20)
	}
	large := `{"x":"` + strings.Repeat("x", 20<<20) + `",` + opened[1:]
	for guid, body := range map[string]string{"g-1": opened, "g-2": large} {
		req, err := http.NewRequest(http.MethodPost, server.URL+"/webhook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-GitHub-Event", "pull_request")
		req.Header.Set("X-GitHub-Delivery", guid)
		req.Header.Set("X-Hub-Signature-256", sign("s3cret", body))
		start := time.Now()
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		took := time.Since(start)
		if res.StatusCode != http.StatusAccepted || took > githubWaits {
			t.Errorf("a delivery of %d bytes is answered %d after %s", len(body), res.StatusCode, took)
		}
	}
	// The strangers' bodies are still open.
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc) - int64(len(large))
	if used > mostMemory {
		t.Errorf("with a signed delivery of 20 MiB the heap grows by %d MiB", used>>20)
	}
	for _, w := range ends {
		w.CloseWithError(io.ErrUnexpectedEOF)
	}
	all.Wait()
}

// Bodies of any size, of strangers that send all but the last byte, have one limit, and connections
// have one. Deliveries that are signed are taken meanwhile.
func TestManySmallBodies(t *testing.T) {
	q := &memoryQueue{}
	server := httptest.NewUnstartedServer(New(Options{Secrets: config.NewSecrets("s3cret"), Queue: q}))
	server.Listener = limit(server.Listener)
	server.Start()
	defer server.Close()
	const strangers, sent = 2000, 60_000 // more than maxUnverified and maxConnections
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	head := fmt.Sprintf("POST /webhook HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256=%s\r\n"+
		"Content-Length: %d\r\n\r\n", strings.Repeat("0", 64), sent+1)
	for range strangers {
		c, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		_ = c.SetWriteDeadline(time.Now().Add(time.Minute))
		_, _ = c.Write([]byte(head + strings.Repeat("x", sent))) // it may be closed
	}
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapAlloc) - int64(before.HeapAlloc); grown > 2*maxUnverified {
		t.Errorf("%d bodies of %d bytes take %d MiB", strangers, sent, grown>>20)
	}
	for i := range 20 {
		body := fmt.Sprintf(`{"n":%d,`, i) + opened[1:]
		req, err := http.NewRequest(http.MethodPost, server.URL+"/webhook", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-GitHub-Event", "pull_request")
		req.Header.Set("X-GitHub-Delivery", fmt.Sprint("g-", i))
		req.Header.Set("X-Hub-Signature-256", sign("s3cret", body))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusAccepted {
			t.Errorf("delivery %d: %d", i, res.StatusCode)
		}
	}
}

// Which connection is closed for a new one: not one that has delivered something with a valid
// signature, and of the others the oldest, or the oldest of an address that has very many.
func TestConnectionToClose(t *testing.T) {
	fill := func(address func(i int) string) *limited {
		l := &limited{of: map[string]int{}}
		for i := range maxConnections {
			if c := l.add(&connection{of: l, address: address(i)}); c != nil {
				t.Fatalf("connection %d is too many", i)
			}
		}
		return l
	}
	next := func(l *limited) *connection { return l.add(&connection{of: l, address: "next"}) }

	// GitHub has several connections, and each stranger one: the oldest stranger is closed.
	l := fill(func(i int) string {
		if i < 10 {
			return "github"
		}
		return fmt.Sprint("stranger ", i)
	})
	for _, c := range l.open[:10] {
		trust(withConnection(t.Context(), c))
	}
	if c := next(l); c != l.open[10] {
		t.Errorf("closed %s", c.address)
	}
	// Before it has delivered anything, it has no more to fear than the others.
	l = fill(func(i int) string {
		if i > 500 && i < 510 {
			return "github"
		}
		return fmt.Sprint("stranger ", i)
	})
	if c := next(l); c != l.open[0] {
		t.Errorf("closed %s", c.address)
	}
	// One address with very many gives way first.
	l = fill(func(i int) string {
		if i >= 800 {
			return "flood"
		}
		return fmt.Sprint("stranger ", i)
	})
	if c := next(l); c != l.open[800] {
		t.Errorf("closed %s", c.address)
	}
	// A stranger is closed before those that are trusted, also if they are older.
	l = fill(func(i int) string { return fmt.Sprint("proxy ", i) })
	for _, c := range l.open {
		c.trusted = true
	}
	l.open[maxConnections-1].trusted = false
	if c := next(l); c != l.open[maxConnections-1] {
		t.Errorf("closed %s", c.address)
	}
}

// A host has many addresses of IPv6, and counts as one sender.
func TestSenderOfAConnection(t *testing.T) {
	for address, want := range map[string]string{
		"192.0.2.1:443":                "192.0.2.1",
		"[::ffff:192.0.2.1]:443":       "192.0.2.1",
		"[2001:db8:0:1::5]:443":        "2001:db8:0:1::/64",
		"[2001:db8:0:1:ff:ff:ff:6]:80": "2001:db8:0:1::/64",
		"[2001:db8:0:2::5]:443":        "2001:db8:0:2::/64",
		"[fe80::1%lo]:443":             "fe80::/64",
		"@":                            "@",
	} {
		if got := senderOf(remote(address)); got != want {
			t.Errorf("%s: %s, want %s", address, got, want)
		}
	}
}

type remote string

func (remote) Network() string  { return "tcp" }
func (r remote) String() string { return string(r) }
