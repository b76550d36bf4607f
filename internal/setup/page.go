package setup

import (
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"

	g "maragu.dev/gomponents"
	h "maragu.dev/gomponents/html"

	"github.com/compat-app/compat/internal/report"
	"github.com/compat-app/compat/internal/shellword"
)

//go:embed style.css
var ownStyle string

// style returns the style sheet of the reports with some additions. It is inlined, because the
// server stops as soon as the App is created.
func style() string { return string(report.Style()) + ownStyle }

// policy returns the Content-Security-Policy of all responses: no script, only this style by its
// hash, and forms only to GitHub.
func (s *Setup) policy() string {
	sum := sha256.Sum256([]byte(style()))
	return fmt.Sprintf(
		"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; form-action %s://%s; "+
			"frame-ancestors 'none'",
		base64.StdEncoding.EncodeToString(sum[:]),
		s.Site.Web.Scheme,
		s.Site.Web.Host,
	)
}

// fail answers with a sentence, and audits it as what. again adds a link to the page.
func (s *Setup) fail(
	w http.ResponseWriter,
	r *http.Request,
	status int,
	what, sentence string,
	again bool,
) {
	sentence = strings.ToUpper(sentence[:1]) + sentence[1:]
	if !strings.HasSuffix(sentence, ".") {
		sentence += "."
	}
	s.audit(r, what, "error", sentence)
	if s.Failed != nil {
		s.Failed(sentence)
	}
	rows := []g.Node{h.P(h.Role("alert"), h.Class("problem"), g.Text(sentence))}
	if again {
		rows = append(rows, h.P(h.A(h.Href(s.at(pagePath)), g.Text("Start again"))))
	}
	show(w, status, h.Header(h.H1(own())), h.Main(report.Rows(rows...)))
}

func (s *Setup) form(w http.ResponseWriter, r *http.Request) {
	hook := s.Public.JoinPath("webhook")
	back, err := url.Parse(s.at(backPath))
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, "failed",
			"The manifest could not be created: "+err.Error(), false)
		return
	}
	manifest, err := s.Manifest.JSON(hook, back)
	if err != nil {
		s.fail(w, r, http.StatusInternalServerError, "failed", err.Error(), false)
		return
	}
	to, host := s.Site.Web.String(), s.Site.Web.Host
	owner, installers := "your own account", "no other account can install it"
	if s.Organization != "" {
		owner = s.Organization
	}
	if s.Manifest.Public {
		installers = "any account may install it"
	}
	show(w, http.StatusOK,
		h.Header(report.Rows(
			h.H1(own(), g.Text(" Create your GitHub App")),
			h.P(
				g.Text(s.Manifest.Description+" It will belong to "),
				h.Strong(g.Text(owner)),
				g.Textf(" on %s, and %s.", host, installers),
			),
		)),
		h.Main(report.Rows(
			h.Form(h.Method("post"), h.Action(s.Site.form(s.Organization, s.state)), report.Rows(
				h.Input(h.Type("hidden"), h.Name("manifest"), h.Value(manifest)),
				h.P(
					g.Text("Sign in to "),
					h.A(h.Href(to), h.Target("_blank"), h.Rel("noopener"), g.Text(host)),
					g.Text(
						" first, or GitHub discards this form. Then choose an unused name for the App; GitHub "+
							"returns you to this page.",
					),
				),
				h.P(h.Button(g.Text("Create the App on "+host))),
			)),
			facts(
				[2]string{"events go to", hook.String()},
				[2]string{"private key", filepath.Join(s.Dir, KeyFile)},
				[2]string{"settings", filepath.Join(s.Dir, SettingsFile)},
			),
			h.H2(g.Text("Permissions")),
			asks(s.Manifest.Permissions, "permission", "level", "purpose"),
			h.H2(g.Text("Events")),
			asks(s.Manifest.Events, "event", "purpose"),
		)))
}

func (s *Setup) done(w http.ResponseWriter, made *Made) {
	show(w, http.StatusOK,
		h.Header(report.Rows(
			h.H1(own(), g.Text(" "), h.Span(h.Class("compatible"), g.Text("App created"))),
			h.P(
				h.Strong(g.Text(made.Name)),
				g.Textf(
					", id %d. Its secrets are in two files that only you can read. "+
						"GitHub does not show them again.",
					made.ID,
				),
			),
		)),
		h.Main(report.Rows(
			facts([2]string{"private key", made.Key}, [2]string{"settings", made.Settings}),
			h.H2(g.Text("Next steps")),
			h.Ol(h.Class("steps"), report.Rows(g.Map(made.Next(), Step.item)...)),
			h.P(g.Text("You can close this page.")),
		)))
}

// own is the heading of every page.
func own() g.Node { return h.Span(h.Class("tool"), g.Text("compat setup")) }

// facts returns a list of names and values.
func facts(list ...[2]string) g.Node {
	return h.Dl(
		report.Rows(
			g.Map(
				list,
				func(f [2]string) g.Node { return g.Group{h.Dt(g.Text(f[0])), h.Dd(h.Code(g.Text(f[1])))} },
			)...),
	)
}

// asks returns the requested permissions or events as a table.
func asks(list []Ask, columns ...string) g.Node {
	head := g.Map(columns, func(c string) g.Node { return h.Th(h.Scope("col"), g.Text(c)) })
	rows := g.Map(list, func(a Ask) g.Node {
		row := g.Group{h.Td(h.Code(breakable(a.Name)))}
		if a.Level != "" {
			row = append(row, h.Td(g.Text(a.Level)))
		}
		return h.Tr(append(row, h.Td(g.Text(a.Why)))...)
	})
	return h.Table(report.Rows(h.THead(h.Tr(head...)), h.TBody(report.Rows(rows...))))
}

// breakable returns a name that may be broken after each underscore, but nowhere else.
func breakable(name string) g.Node {
	var parts g.Group
	for part := range strings.SplitAfterSeq(name, "_") {
		if len(parts) > 0 {
			parts = append(parts, h.Wbr())
		}
		parts = append(parts, g.Text(part))
	}
	return parts
}

func show(w http.ResponseWriter, status int, body ...g.Node) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = report.PageOf("compat setup", h.StyleEl(g.Raw(style())), body...).
		Render(w)
	// fails only if the client closed the connection
}

// Step is a step to do after the App was created.
type Step struct {
	What    string
	Command shellword.Line // "" for a step in the browser
	Link    string         // "" for a step in a terminal
}

func (s Step) item() g.Node {
	what := g.Text(s.What)
	if s.Link != "" {
		what = h.A(h.Href(s.Link), what)
	}
	if s.Command == "" {
		return h.Li(what)
	}
	return h.Li(what, g.Text("\n"), h.Pre(h.Code(g.Text(string(s.Command)))))
}

// RequiredPage documents how to make the check required.
const RequiredPage = "https://github.com/compat-app/compat/blob/main/docs/install.md" +
	"#make-the-check-required"

// Folders of the systemd unit in deploy/.
const (
	unitSettings = "/etc/compat"
	unitData     = "/var/lib/compat"
)

// start returns the step that starts the service. The unit takes its own settings only.
func (s *Setup) start(settings string) Step {
	proxy := "; a reverse proxy has to forward " + s.Public.String() + " to it"
	if s.Dir == unitSettings && s.Data == unitData {
		return Step{
			What:    "Start the systemd unit of the package as root" + proxy,
			Command: "systemctl enable --now compat",
		}
	}
	command := "set -a; . " + shellword.Quote(settings) + "; set +a; compat serve"
	if s.Addr != "" {
		command += " --addr " + shellword.Quote(s.Addr)
	}
	return Step{What: "Run the service with these settings" + proxy, Command: command}
}

// Next returns the steps to do, in order.
func (m *Made) Next() []Step {
	return []Step{
		m.Start,
		{
			What: "Install the App on the repositories to check",
			Link: m.Install.String(),
		},
		{
			What: fmt.Sprintf(
				"In branch protection or a ruleset, add \"compat\" as a required status check, with "+
					"this GitHub App (id %d) as the expected source",
				m.ID,
			),
			Link: RequiredPage,
		},
	}
}
