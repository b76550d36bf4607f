// Package redistest runs a real redis-server for a test, on a reserved loopback port, with its
// append-only file in a directory of the test. The test may kill and restart it: the file is
// written before each response, and the machine does not crash, so no sync is needed.
// COMPAT_REDIS_SERVER is the path of another server, such as Valkey (valkey.sh).
//
//	server := redistest.Start(t)
//	q, err := queue.Open(ctx, queue.Options{URL: server.URL})
//	server.Kill()
//	server.Start()
package redistest

import (
	"bytes"
	"cmp"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/compat-app/compat/internal/test/loopback"
	"github.com/compat-app/compat/internal/test/needs"
)

// Server is a redis-server that ends with its test.
type Server struct {
	URL string // redis://127.0.0.1:PORT/0; not changed by a restart

	t    testing.TB
	path string
	port int
	dir  string
	args []string
	cmd  *exec.Cmd
	out  *bytes.Buffer
}

// Start starts a server. args are appended to its command line ("--appendfsync", "everysec"). If
// redis-server is not installed the test is skipped; with CI=true in the environment it fails.
func Start(t testing.TB, args ...string) *Server {
	t.Helper()
	path := needs.Program(
		t,
		cmp.Or(os.Getenv("COMPAT_REDIS_SERVER"), "redis-server"),
		"redis-server",
		"this test needs a real one",
	)
	s := &Server{t: t, path: path, dir: t.TempDir()}
	s.port = loopback.Port(t)
	s.args = append([]string{
		"--bind", "127.0.0.1", "--port", strconv.Itoa(s.port), "--dir", s.dir, "--save", "",
		"--appendonly", "yes", "--appendfsync", "no", "--maxmemory-policy", "noeviction",
		"--repl-diskless-sync-delay", "0",
	}, args...)
	s.URL = "redis://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) + "/0"
	t.Cleanup(s.Kill)
	s.Start()
	return s
}

// Node starts a server of a Cluster with a long node timeout. bus is the port of its cluster bus.
func Node(t testing.TB, args ...string) (s *Server, bus int) {
	t.Helper()
	bus = loopback.Port(t) // the default, 10,000 above its port, may be reserved by another test
	return Start(
		t,
		append(
			[]string{
				"--cluster-enabled",
				"yes",
				"--cluster-node-timeout",
				"600000",
				"--cluster-port",
				strconv.Itoa(bus),
			},
			args...)...), bus
}

// Masters is the number of masters of Clusters under test: COMPAT_MASTERS, by default 3.
func Masters(t testing.TB) int {
	t.Helper()
	n, err := strconv.Atoi(cmp.Or(os.Getenv("COMPAT_MASTERS"), "3"))
	if err != nil || n < 1 {
		t.Fatalf("COMPAT_MASTERS has to be a positive number: %v", err)
	}
	return n
}

// Cluster starts a Cluster of n masters without replicas, with equal ranges of slots. Its URL is
// that of any of them with ?cluster=true, see ClusterURL.
func Cluster(t testing.TB, n int, args ...string) []*Server {
	t.Helper()
	nodes, buses := make([]*Server, n), make([]int, n)
	for i := range nodes {
		nodes[i], buses[i] = Node(t, args...)
		const slots = 16384
		nodes[i].command("CLUSTER", "ADDSLOTSRANGE", strconv.Itoa(i*slots/n),
			strconv.Itoa((i+1)*slots/n-1))
		if i > 0 {
			nodes[i].command("CLUSTER", "MEET", "127.0.0.1", strconv.Itoa(nodes[0].port),
				strconv.Itoa(buses[0]))
		}
	}
	known := fmt.Sprint("cluster_known_nodes:", n)
	for _, node := range nodes {
		for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
			info := node.command("CLUSTER", "INFO")
			if strings.Contains(info, "cluster_state:ok") && strings.Contains(info, known) {
				break
			}
			if time.Now().After(end) {
				t.Fatalf("the cluster does not come up: %s", info)
			}
		}
	}
	return nodes
}

// ClusterURL returns the address of the Cluster to which this server belongs.
func (s *Server) ClusterURL() string { return "redis://" + s.Addr() + "?cluster=true" }

// command runs a command and returns its response.
func (s *Server) command(args ...string) string {
	s.t.Helper()
	c := redis.NewClient(&redis.Options{Addr: s.Addr(), Protocol: 2})
	defer c.Close()
	words := make([]any, len(args))
	for i, a := range args {
		words[i] = a
	}
	answer, err := c.Do(s.t.Context(), words...).Text()
	if err != nil {
		s.t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return answer
}

// Addr returns the server's host and port.
func (s *Server) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

// Replica starts a replica of this server. It writes no file, because a child process that writes
// one would survive a kill.
func (s *Server) Replica(args ...string) *Server {
	s.t.Helper()
	return Start(
		s.t,
		append(
			[]string{"--replicaof", "127.0.0.1", strconv.Itoa(s.port), "--appendonly", "no"},
			args...)...)
}

// Sentinel starts a sentinel for this server as the master name, with a quorum of one and a
// timeout of an hour, because a busy machine may be slow. Use SENTINEL SET to reduce it when the
// server is dead. The URL of the result finds the master.
func (s *Server) Sentinel(name string) *Server {
	s.t.Helper()
	w := &Server{t: s.t, path: s.path, dir: s.t.TempDir(), port: loopback.Port(s.t)}
	w.URL = "redis://" + w.Addr() + "/0?master_name=" + name
	file := filepath.Join(w.dir, "sentinel.conf")
	text := fmt.Sprintf(
		"bind 127.0.0.1\nport %d\ndir %q\nsentinel monitor %s 127.0.0.1 %d 1\nsentinel "+
			"down-after-milliseconds %[3]s 3600000\nsentinel failover-timeout %[3]s 5000\n",
		w.port,
		w.dir,
		name,
		s.port,
	)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	w.args = []string{file, "--sentinel"}
	s.t.Cleanup(w.Kill)
	w.Start()
	return w
}

// Start restarts a stopped or killed server with its data on its port, and waits until it
// responds.
func (s *Server) Start() {
	s.t.Helper()
	if s.cmd != nil {
		return
	}
	s.out = &bytes.Buffer{}
	s.cmd = exec.Command(s.path, s.args...)
	s.cmd.Stdout, s.cmd.Stderr = s.out, s.out
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("start redis-server: %v", err)
	}
	for end := time.Now().Add(time.Minute); ; {
		if s.answers() {
			return
		}
		if time.Now().After(end) {
			s.Kill()
			s.t.Fatalf("redis-server on port %d does not answer; it said:\n%s", s.port, s.out)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// answers reports whether the server responds to commands. While it loads its file it responds
// with LOADING.
func (s *Server) answers() bool {
	conn, err := net.DialTimeout(
		"tcp",
		net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)),
		time.Second,
	)
	if err != nil {
		return false
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	if _, err := conn.Write([]byte("PING\r\n")); err != nil {
		return false
	}
	answer := make([]byte, 7)
	n, _ := conn.Read(answer)
	return string(answer[:n]) == "+PONG\r\n"
}

// Stop stops the server with SIGTERM.
func (s *Server) Stop() { s.end(syscall.SIGTERM) }

// Kill kills the server with SIGKILL.
func (s *Server) Kill() { s.end(syscall.SIGKILL) }

// Pause stops the server from responding, without closing connections, until Resume.
func (s *Server) Pause() { _ = s.cmd.Process.Signal(syscall.SIGSTOP) }

// Resume ends Pause.
func (s *Server) Resume() { _ = s.cmd.Process.Signal(syscall.SIGCONT) }

func (s *Server) end(signal syscall.Signal) {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Signal(signal)
	_ = s.cmd.Wait() // the exit code is not needed
	s.cmd = nil
}
