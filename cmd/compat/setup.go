package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/setup"
)

// setupLife is how long the page waits for its one visitor: as long as GitHub keeps the code of a
// new App.
const setupLife = time.Hour

type setupFlags struct{ addr, org, url, github, out string }

func newSetupCommand(env environment) *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "setup",
		Short: "Make the GitHub App: a page that asks GitHub for it and keeps its secrets",
		Long: `Make the GitHub App, with a page on this machine that shows what the App asks for, hands that to GitHub, and writes the secrets of the new App into two files that only
you can read: ` + setup.KeyFile + `, and ` + setup.SettingsFile + ` with what 'compat serve' needs in its environment.

The page is reached from this machine only. From another one, log in with 'ssh -L 8090:127.0.0.1:8090 HOST' and run 'compat setup --addr 127.0.0.1:8090' there. Nothing that exists is overwritten,
and while an App is configured (APP_ID, PRIVATE_KEY or PRIVATE_KEY_PATH is set) no other one is made.

Exit code: 0 the App is there and its secrets are kept, 2 otherwise.`,
		Example: `  compat setup --url https://compat.example.com
  compat setup --url https://compat.example.com --org my-organization --out /etc/compat
  compat setup --url https://compat.example.com --github-url https://github.example.com`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return makeApp(c.Context(), env, f) },
	}
	c.Flags().
		StringVar(&f.addr, "addr", "127.0.0.1:0", "address of the page, on this machine (port 0: a free one)")
	c.Flags().
		StringVar(&f.org, "org", "", "organisation that the App is to belong to (default: your own account)")
	c.Flags().
		StringVar(&f.url, "url", "", "address under which GitHub reaches the service (default: COMPAT_PUBLIC_URL)")
	c.Flags().
		StringVar(&f.github, "github-url", "", "root of GitHub's pages, for GitHub Enterprise Server (default: that of GITHUB_API_URL, or https://github.com)")
	c.Flags().StringVar(&f.out, "out", ".", "folder for the two files; it has to be there")
	return c
}

// makeApp serves the page until the App is there.
func makeApp(ctx context.Context, env environment, f setupFlags) error {
	get := func(name string) string { v, _ := env.Getenv(name); return v }
	for _, name := range []string{"APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH"} {
		if get(name) != "" {
			return fmt.Errorf(
				"%s: is set, so there is an App already; unset it to make another one",
				name,
			)
		}
	}
	if f.url == "" {
		f.url = get("COMPAT_PUBLIC_URL")
	}
	public, err := setup.ParsePublic("--url", f.url)
	if err != nil {
		return err
	}
	site, err := setup.ParseSite(f.github, get("GITHUB_API_URL"))
	if err != nil {
		return err
	}
	if err := setup.CheckOrganization(f.org); err != nil {
		return err
	}
	dir, err := filepath.Abs(f.out)
	if err != nil {
		return fmt.Errorf("--out: %w", err)
	}
	listener, err := listenHere(f.addr)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(
		ctx,
		setupLife,
		errors.New("nobody made the App within an hour; start compat setup again"),
	)
	defer stop()
	o := setup.Options{Site: site, Organization: f.org, Public: public, Dir: dir}
	err = offer(
		ctx,
		env,
		o,
		&url.URL{Scheme: "http", Host: listener.Addr().String()},
		listener,
		"in a browser on this machine. It works once, for an hour",
		func(page http.Handler) http.Handler { return page },
	)
	if errors.Is(err, context.Canceled) {
		return errors.New(
			"stopped before there was an App; what GitHub shows of one under its settings can be deleted there",
		)
	}
	return err
}

// serveSetup is `compat serve` while no App is configured: the page where the service will be,
// which ends when the App is there.
func serveSetup(ctx context.Context, env environment, service *config.Service, addr string) error {
	public, err := setup.ParsePublic("COMPAT_PUBLIC_URL", service.PublicURL.String())
	if err != nil {
		return err
	}
	if public.Scheme != "https" {
		return fmt.Errorf(
			"COMPAT_PUBLIC_URL: %s is not https, and whoever listens on the way could take the App over while it is made; use https, or compat setup on this machine",
			public,
		)
	}
	api, _ := env.Getenv("GITHUB_API_URL")
	site, err := setup.ParseSite("", api)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(service.Data)
	if err == nil {
		err = os.MkdirAll(dir, 0o700)
	}
	if err != nil {
		return fmt.Errorf("COMPAT_DATA: %w", err)
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr or PORT: %w", err)
	}
	err = offer(
		ctx,
		env,
		setup.Options{Site: site, Public: public, Dir: dir},
		public,
		listener,
		"in a browser. It works once",
		unready,
	)
	if errors.Is(err, context.Canceled) {
		return nil // asked to stop
	}
	return err
}

// unready is a service that has no App yet: alive, and not ready.
func unready(page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /setup", page)
	mux.Handle("GET /setup/", page)
	mux.HandleFunc(
		"GET /healthz",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") },
	)
	for _, pattern := range []string{"GET /readyz", "POST /webhook", "POST /api/github/webhooks"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			http.Error(
				w,
				"no App is configured; the page /setup makes one, with the link that compat serve printed",
				http.StatusServiceUnavailable,
			)
		})
	}
	return mux
}

// offer serves the page below root until the App is there, and says what comes next. how ends the
// sentence about the link; around is what is served with the page. It closes the listener. The
// error is context.Canceled where ctx was.
func offer(
	ctx context.Context,
	env environment,
	o setup.Options,
	root *url.URL,
	listener net.Listener,
	how string,
	around func(http.Handler) http.Handler,
) error {
	defer listener.Close()
	var err error
	if o.Manifest, err = setup.ParseManifest(compat.Manifest()); err != nil {
		return err
	}
	o.Register = registering(o.Site)
	o.Failed = func(sentence string) { fmt.Fprintln(env.Err, "compat: "+sentence) }
	s, err := setup.New(o, root)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:           around(s),
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      time.Minute,
		MaxHeaderBytes:    64 << 10,
		ErrorLog:          slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug),
	}
	fmt.Fprintf(
		env.Out,
		"Sign in to %s, then open this address %s:\n\n  %s\n\n",
		o.Site.Web,
		how,
		s.Link(),
	)

	ctx, broke := context.WithCancelCause(ctx)
	served := make(chan struct{})
	go func() { // ends with Shutdown
		broke(server.Serve(listener))
		close(served)
	}()
	made, err := s.Wait(ctx)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopWithin)
	defer cancel()
	if err := server.Shutdown(end); err != nil {
		_ = server.Close() // somebody keeps a request open
	}
	<-served
	if err != nil {
		return err
	}
	fmt.Fprintf(
		env.Out,
		"The App %s is there, id %d. Its private key is in %s, its settings are in %s; only you can read them.\n",
		made.Name,
		made.ID,
		made.Key,
		made.Settings,
	)
	for i, step := range made.Next() {
		fmt.Fprintf(env.Out, "\n%d. %s:\n     %s%s\n", i+1, step.What, step.Command, step.Link)
	}
	return nil
}

// registering exchanges codes at a GitHub.
func registering(site setup.Site) func(context.Context, string) (*github.Registered, error) {
	return func(ctx context.Context, code string) (*github.Registered, error) {
		return github.Register(ctx, github.Options{API: site.API}, site.Web, code)
	}
}

// listenHere listens on an address of this machine's own. What is on the page, and the code that
// comes back to it, are nobody else's business.
func listenHere(addr string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w; give it as 127.0.0.1:8090", err)
	}
	if !at.IP.IsLoopback() {
		return nil, fmt.Errorf(
			"--addr: %s can be reached by others; give an address of this machine's own, as 127.0.0.1:8090, and reach it from elsewhere through ssh -L",
			addr,
		)
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return l, nil
}
