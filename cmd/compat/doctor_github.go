package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	compat "github.com/compat-app/compat"
	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/certificate"
	"github.com/compat-app/compat/internal/github"
	"github.com/compat-app/compat/internal/setup"
)

// appRecord is the response of GET /app, and an entry of GET /app/installations.
type appRecord struct {
	ID          int64             `json:"id"`
	URL         string            `json:"html_url"`
	Permissions map[string]string `json:"permissions"`
	Events      []string          `json:"events"`
	Suspended   *time.Time        `json:"suspended_at"`
	Account     struct {
		Login string `json:"login"`
	} `json:"account"`
}

// github checks the App as GitHub knows it.
func (d *doctor) github(ctx context.Context) {
	app, err := github.New(github.Options{
		AppID: d.service.AppID, Key: d.service.PrivateKey, API: d.service.API,
		Backoff: func(int) time.Duration { return 100 * time.Millisecond },
	})
	if err != nil {
		d.fail("github", err.Error(), "correct GITHUB_API_URL")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, 4*doctorTimeout)
	defer cancel()
	var record appRecord
	if !d.identified(ctx, app, &record) {
		d.skip("permissions", "they are not checked, nor are webhook, deliveries and installations, "+
			"because the App could not be read from GitHub")
		return
	}
	manifest, err := setup.ParseManifest(compat.Manifest())
	if err != nil {
		d.fail("permissions", err.Error(), "build compat again")
		return
	}
	d.permissions(manifest, record)
	d.hook(ctx, app, record)
	d.deliveries(ctx, app, record)
	d.installations(ctx, app, manifest, record)
}

// connectNext returns what to do if GitHub's API does not answer. setting has its address.
func connectNext(err error, setting string) string {
	return cmp.Or(certificate.Next(err, setting), "allow connections to it, set HTTPS_PROXY if this "+
		"machine needs a proxy, or correct "+setting)
}

// getAs requests a path of the API as the App.
func getAs(ctx context.Context, app *github.App, path string, into any) (*gh.Response, error) {
	r, err := app.Client().NewRequest(http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	return app.Client().Do(ctx, r, into)
}

// identified checks that GitHub answers, that the clocks agree and that the key belongs to the App.
func (d *doctor) identified(ctx context.Context, app *github.App, record *appRecord) bool {
	resp, err := getAs(ctx, app, "app", record)
	if next := waitFor(err); next != "" {
		d.fail("github", d.service.API.Host+": "+githubMessage(err), next)
		return false
	}
	if resp == nil {
		d.fail("github", fmt.Sprintf("%s does not answer: %v", d.service.API.Host, err),
			connectNext(err, "GITHUB_API_URL"))
		return false
	}
	if at, e := http.ParseTime(resp.Header.Get("Date")); e == nil {
		if skew := d.now().Sub(at); skew.Abs() > maxSkew {
			d.fail("clock", fmt.Sprintf("this clock differs from that of GitHub by %s",
				skew.Round(time.Second)), "synchronize it (NTP); GitHub refuses tokens with a wrong time")
			return false
		}
		d.ok("clock", "agrees with GitHub's")
	}
	switch {
	case resp.StatusCode == http.StatusUnauthorized:
		d.fail("github", fmt.Sprintf("GitHub refuses the private key for App %d", d.service.AppID),
			"compare APP_ID with the App's settings page, and create a new private key there if the key "+
				"was deleted")
		return false
	case resp.StatusCode == http.StatusNotFound:
		d.fail("github", fmt.Sprintf("%s has no App %d", d.service.API, d.service.AppID),
			"correct APP_ID; on GitHub Enterprise Server set GITHUB_API_URL to https://HOST/api/v3")
		return false
	case err != nil || record.ID == 0:
		d.fail("github", fmt.Sprintf("%s is not GitHub's API: %s", d.service.API,
			cmp.Or(githubMessage(err), resp.Status)),
			"correct GITHUB_API_URL; on GitHub Enterprise Server it is https://HOST/api/v3")
		return false
	}
	d.ok("github", "App %d, %s", record.ID, record.URL)
	return true
}

// waitFor returns what to do about an error of GitHub that ends without a change of the set-up: a
// rate limit, or a failure of its servers. It returns "" for other errors.
func waitFor(err error) string {
	if class := github.Classify(err); class.Kind == github.After {
		return "run this command again in " + class.After.Round(time.Second).String()
	}
	var e *gh.ErrorResponse
	if errors.As(err, &e) && e.Response != nil && e.Response.StatusCode >= 500 {
		return "look at the status of GitHub (https://www.githubstatus.com, or the administrator of " +
			"GitHub Enterprise Server), and run this command again later"
	}
	return ""
}

// githubMessage returns the message of an error of go-github without its request.
func githubMessage(err error) string {
	var e *gh.ErrorResponse
	var sent *url.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e) && e.Response != nil:
		return e.Response.Status + " " + e.Message
	case errors.As(err, &sent):
		return sent.Err.Error()
	}
	return err.Error()
}

// lacking lists the permissions of the manifest that granted does not contain.
func lacking(m *setup.Manifest, granted map[string]string) []string {
	var out []string
	for _, p := range m.Permissions {
		if has := granted[p.Name]; has != p.Level && has != "write" && has != "admin" {
			out = append(out, p.Name+": "+p.Level)
		}
	}
	return out
}

// surplus lists the permissions that granted has and the manifest has not, or has at a lower level.
func surplus(m *setup.Manifest, granted map[string]string) []string {
	levels := []string{"read", "write", "admin"}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(granted)) {
		needs := "none"
		for _, p := range m.Permissions {
			if p.Name == name {
				needs = p.Level
			}
		}
		if slices.Index(levels, granted[name]) > slices.Index(levels, needs) {
			out = append(out, fmt.Sprintf("%s: %s (needs %s)", name, granted[name], needs))
		}
	}
	return out
}

// permissions compares what the App requests with what compat needs.
func (d *doctor) permissions(m *setup.Manifest, record appRecord) {
	missing := lacking(m, record.Permissions)
	var events []string
	for _, e := range m.Events {
		if !slices.Contains(record.Events, e.Name) {
			events = append(events, e.Name)
		}
	}
	if missing != nil {
		d.fail("permissions", "the App lacks "+strings.Join(missing, ", "),
			"add them under Permissions & events of "+record.URL+"; owners of installations then have to "+
				"accept them")
	}
	if events != nil {
		d.fail("events", "the App does not receive "+strings.Join(events, ", "),
			"select them under Permissions & events, Subscribe to events, of "+record.URL)
	}
	if more := surplus(m, record.Permissions); more != nil {
		d.warn("permissions", "the App has more permissions than compat needs: "+strings.Join(more, ", "),
			"lower them under Permissions & events of "+record.URL)
	} else if missing == nil && events == nil {
		d.ok("permissions", "the App has all permissions and events that compat needs")
	}
}

// hook checks the webhook's settings.
func (d *doctor) hook(ctx context.Context, app *github.App, record appRecord) {
	var hook struct {
		URL         string `json:"url"`
		ContentType string `json:"content_type"`
		Secret      string `json:"secret"`
		InsecureSSL any    `json:"insecure_ssl"`
	}
	if _, err := getAs(ctx, app, "app/hook/config", &hook); err != nil {
		d.fail("webhook", "its settings cannot be read: "+githubMessage(err),
			cmp.Or(waitFor(err), "activate the webhook in "+record.URL))
		return
	}
	to, err := url.Parse(hook.URL)
	settings := "in the Webhook section of " + record.URL
	switch {
	case err != nil || to.Host == "":
		d.fail("webhook", "the App has no webhook URL",
			"set it to https://YOUR-HOST/webhook "+settings)
	case to.Path != "/webhook" && to.Path != "/api/github/webhooks":
		d.fail("webhook", hook.URL+" is not an address of compat",
			"change its path to /webhook "+settings)
	case hook.ContentType != "json":
		d.fail("webhook", "its content type is not application/json", "change it "+settings)
	case hook.Secret == "":
		d.fail("webhook", "it has no secret, so compat refuses every delivery",
			"set the secret to the value of WEBHOOK_SECRET "+settings)
	case to.Scheme != "https" && !config.Loopback(to.Hostname()):
		d.warn("webhook", hook.URL+" is not encrypted, so events can be read in transit",
			"change it to https "+settings+", with a reverse proxy that has a certificate")
	case fmt.Sprint(hook.InsecureSSL) == "1":
		d.warn("webhook", "GitHub does not verify the certificate of "+to.Host,
			"enable SSL verification "+settings)
	case d.service.PublicURL != nil && to.Hostname() != d.service.PublicURL.Hostname():
		d.warn("webhook", hook.URL+" has a different host from COMPAT_PUBLIC_URL",
			"correct one of them, unless both lead to this service")
	default:
		d.ok("webhook", "%s", hook.URL)
	}
}

// deliveries checks how the newest deliveries were answered.
func (d *doctor) deliveries(ctx context.Context, app *github.App, record appRecord) {
	list, _, err := app.Client().Apps.ListHookDeliveries(ctx, &gh.ListCursorOptions{PerPage: 30})
	switch {
	case err != nil:
		d.warn("deliveries", "cannot be listed: "+githubMessage(err),
			cmp.Or(waitFor(err), "open Advanced, Recent Deliveries, of "+record.URL))
		return
	case len(list) == 0:
		d.warn("deliveries", "GitHub has sent nothing yet",
			"install the App on a repository and push to a pull request")
		return
	}
	from := "the internet"
	if d.service.API.Path == setup.ServerAPI {
		from = d.service.API.Hostname()
	}
	newest := list[0]
	at := fmt.Sprintf("the newest (%s, %s) ", newest.GetEvent(),
		newest.GetDeliveredAt().UTC().Format(time.RFC3339))
	switch code := newest.GetStatusCode(); {
	case code >= 200 && code < 300:
		d.ok("deliveries", "%swas answered %d", at, code)
	case code == http.StatusUnauthorized:
		d.fail("deliveries", at+"was refused: its signature is wrong",
			"set WEBHOOK_SECRET to the secret in the Webhook section of "+record.URL)
	case code == http.StatusNotFound, code == http.StatusMethodNotAllowed:
		d.fail("deliveries", fmt.Sprintf("%swas answered %d, which is not compat's answer", at, code),
			"configure the proxy to forward /webhook to the service")
	case code == http.StatusServiceUnavailable:
		d.fail("deliveries", at+"was answered 503: the queue could not store it",
			"correct what the subject queue above reports; compat then asks GitHub to redeliver it")
	case code == 0 || code == http.StatusBadGateway || code == http.StatusGatewayTimeout:
		d.fail("deliveries", at+"did not arrive: "+newest.GetStatus(),
			"make the webhook address reachable from "+from+", with a certificate that GitHub accepts")
	default:
		d.fail("deliveries", fmt.Sprintf("%swas answered %d", at, code),
			"read the response under Advanced, Recent Deliveries, of "+record.URL)
	}
}

// installations checks that the App is installed, and what its installations granted.
func (d *doctor) installations(
	ctx context.Context,
	app *github.App,
	m *setup.Manifest,
	record appRecord,
) {
	var list []appRecord
	if _, err := getAs(ctx, app, "app/installations?per_page=100", &list); err != nil {
		d.fail("installed", "installations cannot be listed: "+githubMessage(err),
			cmp.Or(waitFor(err), "run this command again later"))
		return
	}
	if len(list) == 0 {
		d.fail("installed", "the App is not installed anywhere",
			"open "+record.URL+", choose Install and select repositories")
		return
	}
	behind := 0
	for _, i := range list {
		switch missing := lacking(m, i.Permissions); {
		case i.Suspended != nil:
			d.warn("installed", i.Account.Login+" suspended the App",
				"an owner of "+i.Account.Login+" can unsuspend it in its settings under GitHub Apps")
		case missing != nil:
			d.warn("installed", i.Account.Login+" has not granted "+strings.Join(missing, ", "),
				"an owner of "+i.Account.Login+" has to accept the new permissions in its settings under "+
					"GitHub Apps")
		default:
			continue
		}
		behind++
	}
	if behind < len(list) {
		d.ok("installed", "%d of %d installations are complete", len(list)-behind, len(list))
	}
}
