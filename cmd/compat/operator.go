package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/admin"
	"github.com/compat-app/compat/internal/sandbox"
)

// newSandbox returns the runner for analyses of the service. It hides this process from them,
// removes directories left by a crash, and tests which layers of the sandbox are available.
func newSandbox(
	ctx context.Context,
	service *config.Service,
	log *slog.Logger,
) (*sandbox.Runner, sandbox.Layers, error) {
	if err := sandbox.Hide(); err != nil {
		return nil, sandbox.Layers{}, err
	}
	if err := makeData(service.Data); err != nil {
		return nil, sandbox.Layers{}, err
	}
	stale, _ := filepath.Glob(filepath.Join(service.Data, sandbox.Folder+"*"))
	for _, dir := range stale {
		if err := os.RemoveAll(dir); err != nil {
			log.Warn("removing the folder of an old analysis failed", "error", err)
		}
	}
	runner := &sandbox.Runner{
		Command: []string{os.Args[0], analyzeCommand},
		Scratch: service.Data,
		Spare:   service.Workers > 0,
	}
	layers, err := runner.Layers(ctx)
	if err != nil {
		return nil, layers, fmt.Errorf("COMPAT_SANDBOX: no analysis can be started: %w", err)
	}
	if err := layers.Require(); service.SandboxRequired && err != nil {
		runner.Close()
		return nil, layers, fmt.Errorf("COMPAT_SANDBOX: %w; change that or unset the variable", err)
	}
	return runner, layers, nil
}

// makeData creates the folder of COMPAT_DATA, if needed, and checks that it can be written.
func makeData(dir string) error {
	err := os.MkdirAll(dir, 0o700)
	if err == nil {
		err = writable(dir)
	}
	if err != nil {
		return fmt.Errorf("COMPAT_DATA: %w; set it to a folder that this user can write", err)
	}
	return nil
}

// logLayers logs which layers of the sandbox are active.
func logLayers(log *slog.Logger, layers sandbox.Layers) {
	if missing := layers.Missing(); len(missing) > 0 {
		log.Warn("the sandbox is incomplete on this system",
			"active", layers.Active(), "missing", missing)
		return
	}
	log.Info("sandbox", "active", layers.Active())
}

// listenAdmin listens on COMPAT_ADMIN_ADDR; nil = the variable is not set.
func listenAdmin(service *config.Service) (net.Listener, error) {
	if service.AdminAddr == "" {
		return nil, nil
	}
	listener, err := net.Listen("tcp", service.AdminAddr)
	if err != nil {
		return nil, fmt.Errorf("COMPAT_ADMIN_ADDR: %w; set it to a free address of this machine", err)
	}
	return listener, nil
}

// serveAdmin serves the admin endpoints until stop is called, which closes the listener. A nil
// listener serves nothing.
func serveAdmin(
	listener net.Listener,
	metrics *prometheus.Registry,
	layers sandbox.Layers,
	log *slog.Logger,
) (stop func()) {
	if listener == nil {
		return func() {}
	}
	server := &http.Server{
		Handler: admin.New(admin.Options{
			Metrics:  metrics,
			Problems: problemLines,
			Health: map[string]any{
				"status": "ok", "version": version(), "sandbox": layers, "missing": layers.Missing(),
			},
		}),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      2 * time.Minute, // a profile takes 30 s by default
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan struct{})
	go func() { // ends with Close
		defer close(served)
		_ = server.Serve(listener)
	}()
	log.Info("listening for operators", "addr", listener.Addr().String())
	return func() {
		_ = server.Close()
		<-served
	}
}
