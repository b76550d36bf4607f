package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/artifact"
	"github.com/compat-app/compat/internal/bucket"
	"github.com/compat-app/compat/internal/certificate"
	"github.com/compat-app/compat/internal/index"
	"github.com/compat-app/compat/internal/queue"
	"github.com/compat-app/compat/internal/sandbox"
	"github.com/compat-app/compat/webhook"
)

func newDoctorCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor",
		Short: "Check the set-up of the GitHub App and name the next step",
		Long: `Check the set-up of the GitHub App: settings, data folder, queue, bucket, sandbox, package index,
private key, clock, permissions, webhook and its recent deliveries, and installations. Each problem
is printed with what to do next.

It reads the same environment variables as "compat serve". If the service runs as the systemd unit
of the packages, run "sudo compat-doctor", which uses the variables of the unit. To test them, it
writes a small file to the data folder and a key to Redis and removes both; it changes nothing else.

Exit code: 0 no problem, 1 a problem, 2 wrong usage.`,
		Example: "  set -a; . ./compat.env; set +a; compat doctor",
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			d := doctor{env: env, now: time.Now, free: freeBytes}
			d.examine(c.Context())
			if d.failed {
				return exit{code: exitIncompatible}
			}
			return nil
		},
	}
}

// doctor checks a set-up and prints a line for each subject.
type doctor struct {
	env     environment
	now     func() time.Time
	free    func(dir string) (uint64, bool) // freeBytes
	service *config.Service
	invalid []string // variables, whose fields of service are not set
	failed  bool
}

// doctorTimeout limits each request.
const doctorTimeout = 15 * time.Second

func (d *doctor) ok(subject, format string, args ...any) {
	d.print("ok", subject, fmt.Sprintf(format, args...), "")
}

// warn reports what may be intended.
func (d *doctor) warn(subject, problem, next string) { d.print("warning", subject, problem, next) }

func (d *doctor) fail(subject, problem, next string) {
	d.failed = true
	d.print("problem", subject, problem, next)
}

// skip reports subjects that cannot be checked before a problem is solved.
func (d *doctor) skip(subject, why string) { d.print("skipped", subject, why, "") }

func (d *doctor) print(state, subject, text, next string) {
	fmt.Fprintf(d.env.Out, "%-8s %-12s %s\n", state, subject, text)
	if next != "" {
		fmt.Fprintf(d.env.Out, "%-8s %-12s next: %s\n", "", "", next)
	}
}

func (d *doctor) examine(ctx context.Context) {
	d.settings()
	scratch := d.data()
	switch {
	case !d.valid("REDIS_URL"):
		d.skip("queue", "REDIS_URL cannot be used")
	case scratch == "" && len(d.service.RedisURL) == 0:
		d.skip("queue", "its journal is in COMPAT_DATA")
	default:
		d.queue(ctx)
	}
	d.bucket(ctx)
	if scratch == "" {
		d.skip("sandbox", "its folder is in COMPAT_DATA")
	} else {
		d.sandbox(ctx, scratch)
	}
	if d.valid("PIP_INDEX_URL") {
		d.index(ctx)
	} else {
		d.skip("index", "PIP_INDEX_URL cannot be used")
	}
	if s := d.service; d.key() && s.AppID > 0 && s.API != nil {
		d.github(ctx)
	} else {
		d.skip("github", "the App is not compared with its settings on GitHub, because APP_ID, the "+
			"private key or GITHUB_API_URL cannot be used")
	}
	if d.valid("COMPAT_PUBLIC_URL") {
		d.public(ctx)
	} else {
		d.skip("reports", "COMPAT_PUBLIC_URL cannot be used")
	}
}

// valid reports whether a variable can be used, or is not set.
func (d *doctor) valid(variable string) bool { return !slices.Contains(d.invalid, variable) }

// settings reads the variables.
func (d *doctor) settings() {
	if first, err := config.BeforeApp(d.env.Getenv); err == nil && first != nil {
		d.service = first
		d.fail("settings", "there is no GitHub App yet: neither APP_ID nor a private key is set",
			"run 'compat setup --url "+first.PublicURL.String()+"', or start 'compat serve' and open the "+
				"link that it prints")
	} else {
		var invalid []error
		d.service, invalid = config.Examine(d.env.Getenv)
		for _, err := range invalid {
			problem, next := problemAndNext(err)
			d.fail("settings", problem, next)
			var e *config.EnvError
			if errors.As(err, &e) {
				d.invalid = append(d.invalid, e.Variable)
			}
		}
	}
	if !d.failed {
		d.ok("settings", "App %d of %s", d.service.AppID, d.service.API)
	}
	doubtful := d.service.Risks()
	if d.env.Environ != nil {
		doubtful = append(doubtful, config.UnknownVariables(d.env.Environ())...)
	}
	for _, e := range doubtful {
		problem, next := problemAndNext(e)
		d.warn("settings", problem, next)
	}
}

// problemAndNext divides an error of config, which ends with what to do.
func problemAndNext(err error) (problem, next string) {
	text := err.Error()
	if i := strings.LastIndex(text, "; "); i >= 0 {
		return text[:i], text[i+2:]
	}
	return text, "correct it"
}

// hint is what to do if an error of a server contains a code.
type hint struct{ code, next string }

// nextFor returns what to do about an error: that of the first hint whose code it contains.
func nextFor(err error, otherwise string, hints []hint) string {
	for _, h := range hints {
		if strings.Contains(err.Error(), h.code) {
			return h.next
		}
	}
	return otherwise
}

// writable returns an error unless a file can be written in dir: permissions do not say it of a
// full file system, or of /proc. It leaves no file.
func writable(dir string) error {
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("%s cannot be written: %w", dir, err)
	}
	f, err := os.CreateTemp(dir, "compat-write-*")
	if err == nil {
		_, err = f.Write(make([]byte, 4096))
		err = errors.Join(err, f.Sync(), f.Close(), os.Remove(f.Name()))
	}
	if err != nil { // not wrapped: the folder exists
		return fmt.Errorf("%s cannot be written: %s", dir, strings.ReplaceAll(err.Error(), "\n", "; "))
	}
	return nil
}

// writableOrNew returns a folder that exists and can be written: dir, or where it will be created.
func writableOrNew(dir string) (string, error) {
	at := filepath.Clean(dir)
	for {
		err := writable(at)
		parent := filepath.Dir(at)
		if !errors.Is(err, fs.ErrNotExist) || parent == at {
			return at, err
		}
		at = parent
	}
}

// folder checks that the folder of a variable can be written, or created. It returns an existing
// folder of its file system, and which of both it is; "" after a problem, which it prints.
func (d *doctor) folder(subject, variable, dir string) (at, state string) {
	at, err := writableOrNew(dir)
	if err != nil {
		d.fail(subject, err.Error(), "set "+variable+" to a folder that this user can write, with "+
			"free space, or change the owner of this one")
		return "", ""
	}
	if at != filepath.Clean(dir) {
		return at, "will be created"
	}
	return at, "can be written"
}

// maxDownloads is how many bytes one job may download to the data folder: the artifacts of the head
// and those of its base.
const maxDownloads = 2 * artifact.MaxTotal

// data checks the data folder and its free space, if this process does jobs. It returns an existing
// folder of its file system; "" if it cannot be written.
func (d *doctor) data() string {
	dir := d.service.Data
	at, state := d.folder("data", "COMPAT_DATA", dir)
	if at == "" {
		return ""
	}
	if free, ok := d.free(at); ok && free < maxDownloads && d.service.Workers > 0 {
		const gib = 1 << 30
		d.warn("data", fmt.Sprintf("%s %s, but has %.1f GiB of free space; the artifacts of a pull "+
			"request and of its base may have %d GiB", dir, state, float64(free)/gib, maxDownloads/gib),
			fmt.Sprintf("free some space, or set COMPAT_DATA to a folder with more; %d GiB of unchanged "+
				"artifacts are kept there", artifact.MaxCache/gib))
		return at
	}
	d.ok("data", "%s %s", dir, state)
	return at
}

// queue checks that the queue can store jobs and that its clock agrees.
func (d *doctor) queue(ctx context.Context) {
	queue.LogClient(slog.New(slog.DiscardHandler)) // Ping returns what it would log
	address := string(d.service.RedisURL)
	options := queue.Options{URL: address, Dir: d.service.Data, ReadOnly: address == ""}
	q, err := queue.Open(ctx, options)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		d.ok("queue", "embedded, will be created; set REDIS_URL to run several processes")
		return
	case errors.Is(err, queue.ErrLocked):
		d.ok("queue", "embedded, in use by a running service")
		return
	case err != nil && address == "":
		d.fail("queue", err.Error(), "stop all processes that use COMPAT_DATA; if the journal is "+
			"damaged, move it away: open pull requests are found again within COMPAT_WAIT")
		return
	case err != nil:
		d.fail("queue", err.Error(), "correct REDIS_URL")
		return
	}
	defer q.Close() //nolint:errcheck // nothing was written
	if address == "" {
		d.ok("queue", "embedded: one process only; set REDIS_URL to run several")
		return
	}
	if err := q.Ping(ctx); err != nil {
		next := nextFor(err, "start Redis, or correct REDIS_URL", []hint{
			{"NOAUTH", "correct user and password in REDIS_URL"},
			{"WRONGPASS", "correct user and password in REDIS_URL"},
			{"NOPERM", "give the user of REDIS_URL the commands and keys that docs/operation.md lists"},
			{"READONLY", "REDIS_URL names a replica; name the master, or use Sentinel"},
			{"OOM", "give Redis more memory"},
			{"certificate is valid for", "write a host name of the certificate in REDIS_URL"},
			{"x509:", "put the certificate of Redis, or of its authority, in a folder, and set " +
				"SSL_CERT_DIR to the folder"},
		})
		problem := err.Error()
		if mismatch := q.Mismatch(ctx); mismatch != nil {
			problem, next = problemAndNext(mismatch)
		}
		d.fail("queue", problem, next)
		return
	}
	skew, err := q.Skew(ctx)
	if err == nil && skew.Abs() > maxSkew {
		d.fail("clock",
			fmt.Sprintf("this clock differs from that of Redis by %s", skew.Round(time.Second)),
			"synchronize both clocks (NTP)")
	}
	d.pool(ctx, q)
	if err := q.CheckPartitions(ctx, d.service.Partitions); err != nil {
		problem, next := problemAndNext(err)
		d.fail("queue", problem, next)
		return
	}
	risks, err := q.Risks(ctx)
	if err != nil {
		d.fail("queue", err.Error(), "start Redis, or correct REDIS_URL")
		return
	}
	for _, r := range risks {
		d.warn("queue", "Redis may lose jobs: "+r.What, r.Do)
	}
	if len(risks) == 0 {
		d.ok("queue", "Redis stores jobs")
	}
}

// maxPoolWait is how long jobs of the large pool may wait before the doctor warns.
const maxPoolWait = 10 * time.Minute

// pool checks that jobs of the large pool do not wait for a process that is missing.
func (d *doctor) pool(ctx context.Context, q *queue.Queue) {
	classes, err := q.ByClass(ctx)
	if large := classes[queue.Large]; err == nil && large.Oldest > maxPoolWait {
		d.warn("queue", fmt.Sprintf("%d jobs with large artifacts wait, the oldest for %s", large.Jobs,
			large.Oldest.Round(time.Second)),
			"start a process with COMPAT_POOL=large, or one without COMPAT_POOL")
	}
}

// bucket checks that the bucket of COMPAT_BLOBS answers. It writes nothing.
func (d *doctor) bucket(ctx context.Context) {
	if d.service.Blobs == "" {
		return
	}
	b, err := bucket.Open(d.service.Blobs, d.env.Getenv)
	if err != nil {
		d.fail("bucket", "COMPAT_BLOBS "+err.Error(),
			"correct COMPAT_BLOBS as docs/config.md describes it")
		return
	}
	if u, err := url.Parse(d.service.Blobs); err == nil && u.Scheme == "file" {
		if at, state := d.folder("bucket", "COMPAT_BLOBS", u.Path); at != "" {
			d.ok("bucket", "%s %s", u.Path, state)
		}
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	if _, err := b.Get(ctx, "doctor"); err != nil {
		otherwise := cmp.Or(certificate.Next(err, "COMPAT_BLOBS"),
			"start the object storage, or correct COMPAT_BLOBS")
		next := nextFor(err, otherwise, []hint{
			{"InvalidAccessKeyId", "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
			{"SignatureDoesNotMatch", "correct AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"},
			{"NoSuchBucket", "create the bucket, or correct its name in COMPAT_BLOBS"},
			{"AccessDenied", "allow the key s3:GetObject, s3:PutObject and s3:ListBucket on the bucket"},
		})
		d.fail("bucket", err.Error(), next)
		return
	}
	d.ok("bucket", "%s can be read", d.service.Blobs)
}

// sandbox checks which layers protect an analysis. scratch is a folder for it, which the service
// has in COMPAT_DATA.
func (d *doctor) sandbox(ctx context.Context, scratch string) {
	runner := &sandbox.Runner{Command: []string{os.Args[0], analyzeCommand}, Scratch: scratch}
	defer runner.Close()
	layers, err := runner.Layers(ctx)
	switch {
	case err != nil:
		d.fail("sandbox", err.Error(), "allow this user to start processes: look at its limits (ulimit "+
			"-a) and those of the container")
	case layers.Require() != nil && d.service.SandboxRequired:
		d.fail("sandbox", layers.Require().Error(), "change that, or unset COMPAT_SANDBOX")
	case layers.Require() != nil:
		d.warn("sandbox", layers.Require().Error(), "run the service on a system that has them; set "+
			"COMPAT_SANDBOX=required to refuse to start without")
	case !layers.Namespaces:
		d.ok("sandbox", "%s; namespaces: not available (optional)", strings.Join(layers.Active(), ", "))
	default:
		d.ok("sandbox", "%s", strings.Join(layers.Active(), ", "))
	}
}

// index checks that the package index answers.
func (d *doctor) index(ctx context.Context) {
	if _, _, err := index.ParseAllowed(d.service.IndexAllow); err != nil {
		d.fail("settings", "COMPAT_INDEX_ALLOW: "+err.Error(), "list names, separated by commas")
	}
	if len(d.service.IndexURL) == 0 {
		d.ok("index", "none; the built-in history of packages is used (PIP_INDEX_URL names one)")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	address := string(d.service.IndexURL)
	found, err := index.Find([]string{address}, d.env.Getenv)
	if err == nil {
		err = index.Probe(ctx, found.Options(address))
	}
	var other *index.NotSimpleError
	switch {
	case err == nil:
		at, _ := url.Parse(address) // config has parsed it
		d.ok("index", "%s answers", at.Host)
	case errors.As(err, &other) && other.Likely != "":
		d.fail("index", err.Error(), "set PIP_INDEX_URL to "+other.Likely+
			", with user and password if it has them")
	case errors.As(err, &other): // it may have no project
		d.warn("index", err.Error(), "correct PIP_INDEX_URL; most addresses end with /simple/")
	case strings.Contains(err.Error(), "certificate"):
		d.fail("index", err.Error(), "set PIP_CERT to a file with the certificate authority of the index")
	case strings.Contains(err.Error(), "credentials"):
		d.fail("index", err.Error(), "correct user and password in PIP_INDEX_URL or netrc")
	default:
		d.fail("index", err.Error(),
			"correct PIP_INDEX_URL, or HTTPS_PROXY if this machine needs a proxy")
	}
}

// key checks that the private key can sign.
func (d *doctor) key() bool {
	if d.service.PrivateKey == nil {
		d.skip("key", "there is none that can be used")
		return false
	}
	if err := (&readiness{key: d.service.PrivateKey}).sign(); err != nil {
		d.fail("key", "cannot sign: "+err.Error(),
			"correct PRIVATE_KEY_COMMAND, or set PRIVATE_KEY_PATH to the key of the App")
		return false
	}
	d.ok("key", "signs")
	return true
}

// public checks that this machine reaches the service at its public address.
func (d *doctor) public(ctx context.Context) {
	if d.service.PublicURL == nil {
		d.warn("reports", "COMPAT_PUBLIC_URL is not set, so check runs have no link to a report page",
			"set it to the public address of the service")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, doctorTimeout)
	defer cancel()
	at := d.service.PublicURL.JoinPath("healthz").String()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		d.fail("reports", err.Error(), "correct COMPAT_PUBLIC_URL")
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		d.warn("reports", "this machine cannot reach "+at+": "+err.Error(),
			cmp.Or(certificate.Next(err, "COMPAT_PUBLIC_URL"), "start 'compat serve', and configure the "+
				"proxy in front of it to forward this address"))
		return
	}
	defer res.Body.Close()
	var problem string
	// A proxy that asks for a sign-in may answer with its page and the status 200.
	body, err := io.ReadAll(io.LimitReader(res.Body, int64(len(webhook.Healthy))+1))
	switch {
	case res.StatusCode != http.StatusOK:
		problem = fmt.Sprintf("%s answers %s", at, res.Status)
	case err != nil || string(body) != webhook.Healthy:
		problem = fmt.Sprintf("%s answers with another page than compat's", at)
	default:
		d.ok("reports", "%s is reachable", d.service.PublicURL)
		return
	}
	d.fail("reports", problem, "configure the proxy to forward /healthz of this address to the "+
		"service, without a sign-in, or correct COMPAT_PUBLIC_URL")
}
