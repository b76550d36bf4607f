package chaos

import (
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/compat-app/compat/internal/test/loopback"
)

// storage is an S3-compatible server that is killed repeatedly: versitygw if COMPAT_VERSITYGW is
// its path, else a server in this process that does not check signatures.
type storage struct {
	addr string
	dir  string    // of versitygw's objects
	cmd  *exec.Cmd // versitygw; nil = it does not run

	mu      sync.Mutex
	objects map[string][]byte // of the server in this process, by path
	server  *http.Server      // nil = it does not run
}

const bucketName = "blobs"

func newStorage(t *testing.T, env map[string]string) *storage {
	t.Helper()
	s := &storage{addr: loopback.Addr(t), dir: t.TempDir(), objects: map[string][]byte{}}
	for _, d := range []string{"data/" + bucketName, "meta"} {
		if err := os.MkdirAll(filepath.Join(s.dir, d), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	env["AWS_ACCESS_KEY_ID"], env["AWS_SECRET_ACCESS_KEY"] = "id", "secretkey"
	env["COMPAT_BLOBS"] = "s3://" + bucketName + "?region=r&endpoint=http://" + s.addr
	t.Cleanup(s.kill)
	s.start(t)
	return s
}

// start starts the server with its earlier objects, and waits until it responds.
func (s *storage) start(t *testing.T) {
	t.Helper()
	if gateway := os.Getenv("COMPAT_VERSITYGW"); gateway != "" {
		s.cmd = exec.Command(gateway, "--port", s.addr, "--region", "r", "posix", "--sidecar",
			filepath.Join(s.dir, "meta"), filepath.Join(s.dir, "data"))
		s.cmd.Env = []string{"ROOT_ACCESS_KEY=id", "ROOT_SECRET_KEY=secretkey", "HOME=" + s.dir}
		if err := s.cmd.Start(); err != nil {
			t.Fatal(err)
		}
	} else {
		listener, err := net.Listen("tcp", s.addr)
		if err != nil {
			t.Fatal(err)
		}
		s.server = &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
		go s.server.Serve(listener)
	}
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", s.addr)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(end) {
			t.Fatalf("the object storage does not start: %v", err)
		}
	}
}

func (s *storage) kill() {
	if s.cmd != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
		s.cmd = nil
	}
	if s.server != nil {
		_ = s.server.Close()
		s.server = nil
	}
}

// count returns the number of objects.
func (s *storage) count(t *testing.T) (n int) {
	t.Helper()
	s.mu.Lock()
	n = len(s.objects)
	s.mu.Unlock()
	err := filepath.WalkDir(filepath.Join(s.dir, "data"), func(_ string, d os.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// ServeHTTP stores objects in memory.
func (s *storage) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Method == http.MethodPut {
		value, err := io.ReadAll(r.Body)
		if err == nil && strings.HasPrefix(r.URL.Path, "/"+bucketName+"/") {
			s.objects[r.URL.Path] = value
		}
		return
	}
	value, ok := s.objects[r.URL.Path]
	if !ok {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchKey</Code></Error>")
		return
	}
	_, _ = w.Write(value)
}
