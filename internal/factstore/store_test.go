package factstore

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/loopback"
)

var (
	wheel = strings.Repeat("0a", 32)
	other = strings.Repeat("0b", 32)
	found = []byte("what is known")
)

func unset(string) (string, bool) { return "", false }

func newKey(t *testing.T) ed25519.PrivateKey {
	t.Helper()
	key, err := MakeKey(filepath.Join(t.TempDir(), "key.pem"))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func open(t *testing.T, address, keys string) *Store {
	t.Helper()
	s, err := Open(address, keys, unset)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A folder needs no key; with one, and anywhere else, entries have to be signed with it.
func TestKeys(t *testing.T) {
	key, dir := newKey(t), t.TempDir()
	if err := open(t, dir, "").Put(t.Context(), wheel, found, nil); err != nil {
		t.Fatal(err)
	}
	if got := open(t, dir, "").Get(t.Context(), wheel); !bytes.Equal(got, found) {
		t.Errorf("an unsigned entry of a folder: %q", got)
	}
	s := open(t, "file://"+filepath.ToSlash(dir), PublicKey(newKey(t))+","+PublicKey(key))
	if got := s.Get(t.Context(), wheel); got != nil || !strings.Contains(s.Note(), "not signed") {
		t.Errorf("an unsigned entry with a key: %q, %q", got, s.Note())
	}
	if err := s.Put(t.Context(), wheel, found, newKey(t)); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(t.Context(), wheel); got != nil {
		t.Errorf("an entry that is signed with another key: %q", got)
	}
	if err := s.Put(t.Context(), wheel, found, key); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(t.Context(), wheel); !bytes.Equal(got, found) {
		t.Errorf("a signed entry: %q, %q", got, s.Note())
	}
	for _, address := range []string{"https://host.example/facts", "http://host.example/facts"} {
		if _, err := Open(address, "", unset); err == nil ||
			!strings.Contains(err.Error(), "COMPAT_FACTS_KEY") {
			t.Errorf("%s without a key: %v", address, err)
		}
	}
	if _, err := Open(dir, "c2hvcnQ=", unset); err == nil {
		t.Error("a short key is accepted")
	}
}

// A byte that is changed, and an entry of another wheel, are noticed.
func TestForged(t *testing.T) {
	key := newKey(t)
	keys := []ed25519.PublicKey{key.Public().(ed25519.PublicKey)}
	entry := write(found, wheel, key)
	if got, err := read(entry, wheel, keys); !bytes.Equal(got, found) || err != nil {
		t.Fatal(err)
	}
	if _, err := read(entry, other, keys); err == nil {
		t.Error("the entry of another wheel is used")
	}
	for n := range entry {
		forged := bytes.Clone(entry)
		forged[n] ^= 1
		if _, err := read(forged, wheel, keys); err == nil {
			t.Errorf("byte %d is changed, and nothing is said", n)
		}
		if _, err := read(entry[:n], wheel, keys); err == nil {
			t.Errorf("the first %d bytes are used", n)
		}
	}
}

// files is a web server that accepts PUT.
type files struct {
	mu  sync.Mutex
	all map[string][]byte
}

func (f *files) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	user, password, _ := r.BasicAuth()
	switch {
	case user != "u" || password != "p":
		w.WriteHeader(http.StatusForbidden)
	case r.Method == http.MethodPut:
		var b bytes.Buffer
		_, _ = b.ReadFrom(r.Body)
		f.all[r.URL.Path] = b.Bytes()
	case f.all[r.URL.Path] == nil:
		http.NotFound(w, r)
	default:
		_, _ = w.Write(f.all[r.URL.Path])
	}
}

func TestWeb(t *testing.T) {
	server := loopback.Server(t, &files{all: map[string][]byte{}})
	key := newKey(t)
	address := strings.Replace(server.URL, "://", "://u:p@", 1) + "/facts/"
	s := open(t, address, PublicKey(key))
	if got := s.Get(t.Context(), wheel); got != nil || s.Note() != "" {
		t.Errorf("an absent entry: %q, %q", got, s.Note())
	}
	if err := s.Put(t.Context(), wheel, found, key); err != nil {
		t.Fatal(err)
	}
	if got := s.Get(t.Context(), wheel); !bytes.Equal(got, found) {
		t.Errorf("%q, %q", got, s.Note())
	}
	refused := open(t, server.URL+"/facts", PublicKey(key))
	if refused.Get(t.Context(), wheel); !strings.Contains(refused.Note(), "403") ||
		strings.Contains(s.name, "u:p") {
		t.Errorf("without the password: %q; name %q", refused.Note(), s.name)
	}
}

// A store that does not answer costs one timeout, whatever the number of wheels.
func TestDown(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0") // accepts, and never answers
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	s := open(t, "http://"+listener.Addr().String(), PublicKey(newKey(t)))
	start := time.Now()
	var all sync.WaitGroup
	var n atomic.Int32
	for range 100 {
		all.Go(func() {
			time.Sleep(time.Duration(n.Add(1)) * time.Millisecond)
			if s.Get(context.Background(), wheel) != nil {
				t.Error("there are facts")
			}
		})
	}
	all.Wait()
	if s.Get(context.Background(), other); time.Since(start) > 2*timeout {
		t.Errorf("it took %v", time.Since(start))
	}
	if note := s.Note(); !strings.Contains(note, "no answer within 5s") {
		t.Error(note)
	}
}

// An absent store in a folder has no entries, and is no failure.
func TestFolder(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "later")
	s := open(t, dir, "")
	if s.Get(t.Context(), wheel) != nil || s.Note() != "" {
		t.Error(s.Note())
	}
	if err := s.Put(t.Context(), wheel, found, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, place(wheel))); err != nil {
		t.Error(err)
	}
	if err := s.Put(t.Context(), "../x", found, nil); err == nil {
		t.Error("a path is accepted for a digest")
	}
}

// No entry is read in which a signature of the key is not found, and reading it does not fail.
func FuzzRead(f *testing.F) {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(write(found, wheel, key))
	f.Add(write(nil, wheel, nil))
	_, signer, _ := ed25519.GenerateKey(nil)
	f.Fuzz(func(t *testing.T, entry []byte) {
		got, err := read(entry, wheel, []ed25519.PublicKey{signer.Public().(ed25519.PublicKey)})
		if err == nil {
			t.Errorf("an entry that nobody signed is read: %q", got)
		}
		if got, err := read(entry, wheel, nil); err == nil && !bytes.Equal(
			write(got, wheel, nil)[len(head(wheel))+ed25519.SignatureSize:],
			entry[len(head(wheel))+ed25519.SignatureSize:]) {
			t.Error("it is written differently")
		}
	})
}
