package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/setup"
	"github.com/compat-app/compat/webhook"
)

// setupLife is how long the page is served: the lifetime of GitHub's code for a new App.
const setupLife = time.Hour

// behindProxy is the address of the service for a reverse proxy on the same machine.
const behindProxy = "127.0.0.1:8080"

type setupFlags struct{ addr, org, url, github, out, data string }

func newSetupCommand(env environment) *cobra.Command {
	var f setupFlags
	c := &cobra.Command{
		Use:   "setup",
		Short: "Create the GitHub App and store its secrets",
		Long: `Create the GitHub App. A page on this machine shows the permissions of the App and sends them to
GitHub. The secrets of the new App are written to two files that only you can read:
` + setup.KeyFile + `, and ` + setup.SettingsFile + ` with the environment of "compat serve".

Only this machine can reach the page. To use the browser of another machine, log in with
"ssh -L 8090:127.0.0.1:8090 HOST" and run "compat setup --addr 127.0.0.1:8090" there. Existing files
are not overwritten. If APP_ID or a variable of the private key is set, no App is created.

Exit code: 0 the App was created and its secrets are stored, 2 otherwise.`,
		Example: `  compat setup --url https://compat.example.com
  compat setup --url https://compat.example.com --org my-organization
  compat setup --url https://compat.example.com --out /etc/compat --data /var/lib/compat
  compat setup --url https://compat.example.com --github-url https://github.example.com`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return makeApp(c.Context(), env, f) },
	}
	c.Flags().
		StringVar(&f.addr, "addr", "127.0.0.1:0",
			"address of the page on this machine (port 0: any free port)")
	c.Flags().
		StringVar(&f.org, "org", "", "organization that will own the App (default: your account)")
	c.Flags().
		StringVar(&f.url, "url", "", "public address of the service (default: COMPAT_PUBLIC_URL)")
	c.Flags().
		StringVar(&f.github, "github-url", "",
			"address of GitHub Enterprise Server (default: from GITHUB_API_URL, or https://github.com)")
	c.Flags().StringVar(&f.out, "out", ".", "existing folder for the two files")
	c.Flags().StringVar(&f.data, "data", "",
		"COMPAT_DATA of the service, written to the settings (default: compat-data in the folder of "+
			"--out)")
	return c
}

// makeApp serves the page until the App was created.
func makeApp(ctx context.Context, env environment, f setupFlags) error {
	get := func(name string) string { v, _ := env.Getenv(name); return v }
	for _, name := range []string{
		"APP_ID", "PRIVATE_KEY", "PRIVATE_KEY_PATH", "PRIVATE_KEY_COMMAND",
	} {
		if get(name) != "" {
			return fmt.Errorf(
				"%s is set, so an App is already configured; unset it to create another one",
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
	data, err := filepath.Abs(cmp.Or(f.data, filepath.Join(dir, config.DefaultData)))
	if err != nil {
		return fmt.Errorf("--data: %w", err)
	}
	listener, err := listenHere(f.addr)
	if err != nil {
		return err
	}
	ctx, stop := context.WithTimeoutCause(
		ctx,
		setupLife,
		errors.New("no App was created within an hour; start compat setup again"),
	)
	defer stop()
	for _, e := range (&config.Service{PublicURL: public, API: site.API}).Risks() {
		fmt.Fprintln(env.Err, "compat: warning:", e)
	}
	o := setup.Options{
		Site: site, Organization: f.org, Public: public, Dir: dir, Data: data, Addr: behindProxy,
		Failed: func(sentence string) { fmt.Fprintln(env.Err, "compat: "+sentence) },
	}
	err = offer(
		ctx,
		env,
		o,
		&url.URL{Scheme: "http", Host: listener.Addr().String()},
		listener,
		"in a browser on this machine (valid once, for an hour)",
		func(page http.Handler) http.Handler { return page },
	)
	if errors.Is(err, context.Canceled) {
		return errors.New(
			"stopped before the App was created; if GitHub's settings list it, delete it there",
		)
	}
	return err
}

// serveSetup is compat serve while no App is configured: it serves the setup page at the address of
// the service until the App was created.
func serveSetup(ctx context.Context, env environment, service *config.Service, addr string) error {
	public, err := setup.ParsePublic("COMPAT_PUBLIC_URL", service.PublicURL.String())
	if err != nil {
		return err
	}
	if public.Scheme != "https" {
		return fmt.Errorf(
			"COMPAT_PUBLIC_URL: %s is not https, so the secrets of the new App could be read in transit; "+
				"use https, or run compat setup",
			public,
		)
	}
	api, _ := env.Getenv("GITHUB_API_URL")
	site, err := setup.ParseSite("", api)
	if err != nil {
		return err
	}
	dir, err := filepath.Abs(service.Data)
	if err != nil {
		return fmt.Errorf("COMPAT_DATA: %w", err)
	}
	if err := makeData(dir); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("--addr or PORT: %w", err)
	}
	err = offer(
		ctx,
		env,
		setup.Options{
			Site:   site,
			Public: public,
			Dir:    dir,
			Data:   dir,
			Addr:   addr,
			Log:    newLog(env.Err, slog.LevelInfo), // has what Failed would print
		},
		public,
		listener,
		"in a browser (valid once)",
		unready,
	)
	if errors.Is(err, context.Canceled) {
		return nil // asked to stop
	}
	return err
}

// unready returns a handler with the page and the health endpoints, for a service that has no App
// yet.
func unready(page http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /setup", page)
	mux.Handle("GET /setup/", page)
	mux.HandleFunc(
		"GET /healthz",
		func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, webhook.Healthy) },
	)
	for _, pattern := range []string{"GET /readyz", "POST /webhook", "POST /api/github/webhooks"} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "60")
			http.Error(
				w,
				"no App is configured; create one with the link that compat serve printed",
				http.StatusServiceUnavailable,
			)
		})
	}
	return mux
}

// offer serves the page below root until the App was created, and prints the next steps. how ends
// the sentence about the link; around adds other endpoints to the page. It closes the listener.
// The error is context.Canceled if ctx was canceled.
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
	s, err := setup.New(o, root)
	if err != nil {
		return err
	}
	if err := github.Reach(ctx, github.Options{API: o.Site.API}); err != nil {
		return fmt.Errorf("GitHub's API at %s cannot be reached: %w; %s", o.Site.API, err,
			connectNext(err, "--github-url or GITHUB_API_URL"))
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
		_ = server.Close() // a client keeps a request open
	}
	<-served
	if err != nil {
		return err
	}
	fmt.Fprintf(
		env.Out,
		"Created the App %s (id %d). Private key: %s. Settings: %s. Only you can read these files.\n",
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

// registering returns the function that exchanges a code for the App at a GitHub server.
func registering(site setup.Site) func(context.Context, string) (*github.Registered, error) {
	return func(ctx context.Context, code string) (*github.Registered, error) {
		return github.Register(ctx, github.Options{API: site.API}, site.Web, code)
	}
}

// listenHere listens on a loopback address: the page and the code that GitHub sends to it are
// secret.
func listenHere(addr string) (net.Listener, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w; give it as 127.0.0.1:8090", err)
	}
	if !at.IP.IsLoopback() {
		return nil, fmt.Errorf(
			"--addr: %s is reachable from other machines; use 127.0.0.1:8090, and ssh -L from elsewhere",
			addr,
		)
	}
	l, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("--addr: %w", err)
	}
	return l, nil
}
