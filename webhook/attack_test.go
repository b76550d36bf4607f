package webhook

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/compat-app/compat/config"
)

// How long the comparison takes must not depend on what it finds: every secret is tried to the end,
// each by hmac.Equal, and nothing leaves the loop.
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

// Strangers who send large bodies hold no more memory than largeBodies of them: the next is told to
// come again, and small deliveries go on.
func TestLargeBodiesAreBounded(t *testing.T) {
	q := &shelf{}
	server := httptest.NewServer(
		New(Options{Secrets: []config.Secret{config.Secret("s3cret")}, Queue: q}),
	)
	defer server.Close()
	const large = 20 << 20
	var ends []*io.PipeWriter
	answers := make(chan int, largeBodies+1)
	send := func() {
		r, w := io.Pipe()
		ends = append(ends, w)
		go func() {
			req, err := http.NewRequest(http.MethodPost, server.URL+"/webhook", r)
			if err != nil {
				answers <- 0
				return
			}
			req.ContentLength = large
			req.Header.Set("X-Hub-Signature-256", "sha256="+strings.Repeat("0", 64))
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				answers <- 0
				return
			}
			res.Body.Close()
			answers <- res.StatusCode
		}()
		_, _ = w.Write(make([]byte, 2*usualBody)) // of the one that is refused, less may be taken
	}
	for range largeBodies {
		send()
	}
	send()
	// the others have not sent all of it
	if code := <-answers; code != http.StatusServiceUnavailable {
		t.Errorf("one more large body is answered %d, want 503", code)
	}
	if code, a, _ := post(server.Config.Handler, call{event: "pull_request", guid: "g-1", body: opened, signature: sign("s3cret", opened)}); code != http.StatusAccepted {
		t.Errorf("a small delivery beside them is answered %d %v", code, a)
	}
	for _, w := range ends {
		w.CloseWithError(io.ErrUnexpectedEOF)
	}
	for range largeBodies {
		<-answers
	}
	body := `{"x":"` + strings.Repeat("x", 3<<20) + `",` + opened[1:]
	if code, a, _ := post(server.Config.Handler, call{event: "pull_request", guid: "g-2", body: body, signature: sign("s3cret", body)}); code != http.StatusAccepted ||
		len(q.jobs) != 2 {
		t.Errorf("a large delivery later is answered %d %v", code, a)
	}
}
