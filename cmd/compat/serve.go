package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/spf13/cobra"

	"github.com/compat-app/compat/analyzer"
	"github.com/compat-app/compat/analyzer/packages"
	"github.com/compat-app/compat/analyzer/rules"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/bucket"
	"github.com/compat-app/compat/internal/command"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/reconcile"
	"github.com/compat-app/compat/internal/reportpage"
	"github.com/compat-app/compat/internal/review"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/internal/spool"
	"github.com/compat-app/compat/internal/store"
	"github.com/compat-app/compat/internal/subject"
	"github.com/compat-app/compat/internal/worker"
	"github.com/compat-app/compat/webhook"
)

// stopWithin is the time for open requests after the service was asked to stop. Deliveries are
// answered within milliseconds.
const stopWithin = 5 * time.Second

func newServeCommand(env environment) *cobra.Command {
	var addr string
	var check bool
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the GitHub App",
		Long: `Run the GitHub App: receive webhooks, check the artifacts of pull requests, merge groups, releases
and deployments, and report the results on GitHub.

It is configured by environment variables. Required are APP_ID, one of PRIVATE_KEY, PRIVATE_KEY_PATH
and PRIVATE_KEY_COMMAND, and WEBHOOK_SECRET or WEBHOOK_SECRET_PATH. docs/config.md lists all of them
with their defaults.

If neither APP_ID nor a private key is set and COMPAT_PUBLIC_URL is, the service serves the page
/setup there, which creates the App as "compat setup" does. It prints the link, writes the secrets
to COMPAT_DATA, and then exits.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if check {
				port, _ := env.Getenv("PORT")
				return healthy(c.Context(), cmp.Or(addr, ":"+cmp.Or(port, "8080")))
			}
			return serve(c.Context(), env, addr, nil)
		},
	}
	c.Flags().
		StringVar(&addr, "addr", "", "address to listen on (default: PORT, or :8080)")
	c.Flags().BoolVar(
		&check,
		"healthcheck",
		false,
		"check the health of the service on this machine; exit code 0 or 2",
	)
	return c
}

// healthy requests /healthz of a service on this machine, for containers without another HTTP
// client.
func healthy(ctx context.Context, addr string) error {
	_, port, err := net.SplitHostPort(addr)
	if err != nil {
		return fmt.Errorf("--addr: %w; give it as :8080", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	url := "http://" + net.JoinHostPort("127.0.0.1", port) + "/healthz"
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("the service does not respond: %w", err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the service is not healthy: %s answers %s", url, res.Status)
	}
	return nil
}

// priorities returns the priorities of the job kinds: a release or a deployment is blocked until
// it is answered.
func priorities() map[string]queue.Priority {
	return map[string]queue.Priority{
		string(job.KindRelease):    queue.Urgent,
		string(job.KindDeployment): queue.Urgent,
	}
}

// serve runs the App until ctx ends. It listens on listener, or if that is nil on addr ("" = the
// value of PORT).
func serve(ctx context.Context, env environment, addr string, listener net.Listener) error {
	if first, err := config.BeforeApp(env.Getenv); err != nil || first != nil {
		if err != nil {
			return err
		}
		return serveSetup(ctx, env, first, cmp.Or(addr, first.Addr))
	}
	service, err := config.FromEnv(env.Getenv)
	if err != nil {
		return err // one line that names the variable
	}
	addr = cmp.Or(addr, service.Addr)
	log := newLog(env.Err, service.LogLevel)
	if env.Environ != nil {
		for _, e := range config.UnknownVariables(env.Environ()) {
			log.Warn("a variable is ignored", "error", e)
		}
	}
	queue.LogClient(log)
	operators, err := listenAdmin(service)
	if err != nil {
		return err
	}
	checker, layers, err := newSandbox(ctx, service, log)
	if err != nil {
		return err
	}
	defer checker.Close()
	metrics := prometheus.NewRegistry()
	metrics.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	measureSpace(metrics, service.Data)
	fetcher, err := artifact.New(artifact.Options{Dir: service.Data, Log: log})
	if err != nil {
		return fmt.Errorf("COMPAT_DATA: %w", err)
	}
	blobs, err := openBlobs(service.Blobs, env, metrics)
	if err != nil {
		return err
	}
	if len(service.RedisURL) > 0 { // the embedded queue locks the folder itself
		release, err := queue.LockFolder(service.Data)
		if err != nil {
			return fmt.Errorf("COMPAT_DATA: %w", err)
		}
		defer func() { _ = release() }() // the process ends
	}
	jobs, err := queue.Open(
		ctx,
		queue.Options{
			Bucket:     blobs,
			URL:        string(service.RedisURL),
			Dir:        service.Data,
			Lease:      service.Lease,
			Partitions: service.Partitions,
			Pool:       queue.Pool(service.Pool),
			Log:        log,
			Priorities: priorities(),
		},
	)
	if errors.Is(err, queue.ErrPartitions) {
		return fmt.Errorf("COMPAT_PARTITIONS: %w", err)
	}
	if err != nil {
		return fmt.Errorf("COMPAT_DATA or REDIS_URL: %w", err)
	}
	defer func() {
		if err := jobs.Close(); err != nil {
			log.Warn("closing the queue failed", "error", err)
		}
	}()
	hub := github.Options{
		AppID:     service.AppID,
		Key:       service.PrivateKey,
		API:       service.API,
		Log:       log,
		Transport: newGithubCalls(metrics, service.API.Host),
	}
	if !jobs.Embedded() {
		hub.Shared, hub.Secret = jobs, service.WebhookSecrets.All()[0]
	}
	app, err := github.New(hub)
	if err != nil {
		return fmt.Errorf("GITHUB_API_URL: %w", err)
	}
	if jobs.Embedded() {
		log.Info(
			"embedded queue: one process only, jobs are stored in COMPAT_DATA; set REDIS_URL to run several",
			"dir",
			service.Data,
		)
	}
	if err := fetcher.Clean(); err != nil {
		log.Warn("removing old downloads failed", "error", err)
	}
	var indexes *subject.PackageIndex
	var reviewer *review.Reviewer
	if len(service.IndexURL) > 0 {
		found, err := index.Find([]string{string(service.IndexURL)}, env.Getenv)
		if err != nil {
			return err
		}
		o := found.Options(string(service.IndexURL))
		o.History, o.TempDir, o.Log = packages.History(), service.Data, log
		o.Cache = newCountedCache(metrics, jobs)
		store, err := openFacts(env, "")
		if err != nil {
			return err
		}
		if store != nil {
			store.Log, o.Facts = log, store
		}
		indexed, err := index.New(o)
		if err != nil {
			return fmt.Errorf("PIP_INDEX_URL: %w", err)
		}
		names, any, err := index.ParseAllowed(service.IndexAllow)
		if err != nil {
			return fmt.Errorf("COMPAT_INDEX_ALLOW: %w", err)
		}
		indexes = subject.NewPackageIndex(indexed, names, any)
		reviewer = &review.Reviewer{Check: checker.CheckEnvironments, Dir: service.Data}
	}
	work, err := newWork(jobs, app, fetcher, indexes, reviewer, checker, service, log, metrics)
	if err != nil {
		return err
	}
	ready, err := newReadiness(metrics, jobs, service.PrivateKey)
	if err != nil {
		return fmt.Errorf("PRIVATE_KEY_COMMAND: %w", err)
	}
	pages, err := reportpage.New(jobs, service.Data, ruleDescriptions(), log)
	if err != nil {
		return fmt.Errorf("COMPAT_DATA: %w", err)
	}
	handler := webhook.New(
		webhook.Options{
			AppID:   service.AppID,
			Secrets: service.WebhookSecrets,
			Queue:   ready,
			Log:     log,
			Metrics: metrics,
			Report:  pages,
		},
	)
	if listener == nil {
		if listener, err = listenPublic(addr, operators); err != nil {
			return err
		}
	}
	for _, e := range service.Risks() {
		log.Warn("a variable is a risk", "error", e)
	}
	logLayers(log, layers)
	defer serveAdmin(operators, metrics, layers, log)()
	log.Info(
		"listening",
		"addr",
		listener.Addr().String(),
		"workers",
		service.Workers,
		"version",
		version(),
	)
	return listen(ctx, listener, handler, work, log)
}

// listenPublic listens for deliveries. operators listens on COMPAT_ADMIN_ADDR, or is nil.
func listenPublic(addr string, operators net.Listener) (net.Listener, error) {
	listener, err := net.Listen("tcp", addr)
	if err == nil {
		return listener, nil
	}
	if operators != nil {
		_, mine, _ := net.SplitHostPort(addr)
		if _, taken, _ := net.SplitHostPort(operators.Addr().String()); mine == taken {
			return nil, fmt.Errorf("COMPAT_ADMIN_ADDR: %s has the port of --addr or PORT, %s; set it to "+
				"another port", operators.Addr(), addr)
		}
	}
	return nil, fmt.Errorf("--addr or PORT: %w", err)
}

// newLog returns the log of the service: a JSON object on each line, with durations as "1.5s".
func newLog(w io.Writer, level slog.Level) *slog.Logger {
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: level,
		ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration {
				return slog.String(a.Key, a.Value.Duration().String())
			}
			return a
		},
	}))
}

// openBlobs opens the bucket for large values; nil if there is none.
func openBlobs(
	address string,
	env environment,
	metrics prometheus.Registerer,
) (queue.Bucket, error) {
	counted := newCountedBucket(metrics)
	if address == "" {
		return nil, nil
	}
	var err error
	if counted.Bucket, err = bucket.Open(address, env.Getenv); err != nil {
		return nil, fmt.Errorf("COMPAT_BLOBS: %w", err)
	}
	return counted, nil
}

// newWork creates the worker and the sweeper. The returned function runs them until its context
// ends.
func newWork(
	jobs *queue.Queue,
	app *github.App,
	fetcher *artifact.Fetcher,
	indexes *subject.PackageIndex,
	reviewer *review.Reviewer,
	checker *sandbox.Runner,
	service *config.Service,
	log *slog.Logger,
	metrics *prometheus.Registry,
) (func(context.Context), error) {
	shared := &store.Store{Queue: jobs, Log: log, Now: time.Now, Public: service.PublicURL}
	rules := analyzer.New(rules.All())
	subjects, err := subject.New(subject.Options{
		App: app, Store: shared, Fetcher: fetcher, Analyzer: rules, Index: indexes,
		Reviewer: reviewer,
		Checker:  checker, Impacts: checker,
		Scratch: spool.In(service.Data), Config: service, Version: version(),
		Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	commands, err := command.New(command.Options{
		App: app, Store: shared, Fetcher: fetcher, Analyzer: rules,
	})
	if err != nil {
		return nil, err
	}
	handlers := subjects.Handlers()
	maps.Copy(handlers, commands.Handlers())
	w, err := worker.New(worker.Options{
		Queue: jobs, Handlers: handlers, Workers: service.Workers, Lease: service.Lease,
		Log: log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	sweeper, err := reconcile.New(reconcile.Options{
		App: app, Store: shared, Wait: service.Wait, Log: log, Metrics: metrics,
	})
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) {
		var all sync.WaitGroup
		all.Go(func() { w.Run(ctx) })
		all.Go(func() { service.Follow(ctx, log) })
		if service.Workers > 0 {
			all.Go(func() { sweeper.Run(ctx) })
		}
		all.Wait()
	}, nil
}

// listen serves requests and runs jobs until ctx ends. It then stops accepting deliveries first and
// waits for running jobs.
func listen(
	ctx context.Context,
	listener net.Listener,
	handler http.Handler,
	work func(context.Context),
	log *slog.Logger,
) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	server := &http.Server{
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second, // GitHub closes a delivery after ten seconds
		WriteTimeout:      time.Minute,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() {
		served <- webhook.Serve(server, listener)
		stop() // when the listener fails, stop the workers too
	}()
	worked := make(chan struct{})
	go func() {
		defer close(worked)
		work(ctx)
	}()

	<-ctx.Done()
	log.Info("stopping")
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		log.Warn("open requests were ended", "error", err)
	}
	err := <-served
	if errors.Is(err, http.ErrServerClosed) {
		err = nil
	}
	<-worked
	return err
}
