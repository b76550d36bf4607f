package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	gh "github.com/google/go-github/v60/github"
)

// FateKind says what becomes of a job whose call failed.
type FateKind string

const (
	Retry     FateKind = "retry"     // may work another time: network, 5xx, a token that was refused
	After     FateKind = "after"     // a rate limit: works after Fate.After
	Gone      FateKind = "gone"      // for good: 410, or the installation was suspended or deleted
	Missing   FateKind = "missing"   // 404: not there, or not yet, or not for us
	Forbidden FateKind = "forbidden" // 403 that is no limit: a permission, a block, an archived repository
	Invalid   FateKind = "invalid"   // the request, or what came, can't be right, and won't be another time
)

// Fate is what an error means for the caller.
type Fate struct {
	Kind  FateKind      // "" for a nil error
	After time.Duration // how long to wait; only with Kind After, and then at least a second
	// a write whose answer was lost or was a 5xx: it may have happened, so look before writing
	// again
	Unsure bool
	Reason string // one sentence without secrets; may hold GitHub's words, cut
}

// Classify says what an error of this package or of go-github means. Unknown errors are Retry: a
// job has its own count of attempts.
func Classify(err error) Fate {
	if err == nil {
		return Fate{}
	}
	var limit *LimitError
	var primary *gh.RateLimitError
	var abuse *gh.AbuseRateLimitError
	var token *TokenError
	var dl *DownloadError
	var graph *GraphQLError
	var resp *gh.ErrorResponse
	var otp *gh.TwoFactorAuthError
	switch {
	case errors.As(err, &limit):
		return after(time.Until(limit.Until), "GitHub limits our requests")
	case errors.As(err, &primary): // go-github's own memory of an answer with nothing remaining
		return after(time.Until(primary.Rate.Reset.Time), "GitHub limits our requests")
	case errors.As(err, &abuse):
		return after(abuse.GetRetryAfter(), "GitHub limits our requests")
	case errors.Is(err, ErrForgotten):
		return Fate{Kind: Gone, Reason: "The App's installation was suspended or deleted."}
	case errors.As(err, &token):
		return token.fate()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return Fate{
			Kind:   Retry,
			Unsure: wrote(err),
			Reason: "The work was stopped before GitHub answered.",
		}
	case errors.As(err, &dl):
		return dl.fate()
	case errors.As(err, &graph):
		return graph.fate()
	case errors.Is(err, ErrTooMany):
		return Fate{Kind: Invalid, Reason: sentence(err.Error())}
	case errors.As(err, &otp):
		return status((*gh.ErrorResponse)(otp))
	case errors.As(err, &resp):
		return status(resp)
	}
	return Fate{
		Kind:   Retry,
		Unsure: wrote(err) && !unsent(err),
		Reason: "GitHub could not be reached, or its answer broke off.",
	}
}

func after(d time.Duration, what string) Fate {
	d = max(d, time.Second)
	return Fate{
		Kind:   After,
		After:  d,
		Reason: fmt.Sprintf("%s for another %s.", what, d.Round(time.Second)),
	}
}

func status(e *gh.ErrorResponse) Fate {
	code, what := 0, "a request"
	write := false
	if r := e.Response; r != nil {
		code = r.StatusCode
		if q := r.Request; q != nil {
			what = q.Method + " " + q.URL.Path
			write = q.Method != http.MethodGet && q.Method != http.MethodHead
		}
	}
	f := Fate{
		Kind: Invalid,
		Reason: sentence(
			fmt.Sprintf("GitHub answered %d to %s: %s", code, brief(what), brief(e.Message)),
		),
	}
	switch {
	case code == http.StatusUnauthorized,
		code == http.StatusRequestTimeout,
		code == http.StatusConflict,
		code == 425:
		f.Kind = Retry
	case code >= 500:
		f.Kind, f.Unsure = Retry, write
	case code == http.StatusTooManyRequests:
		return after(vagueWait, "GitHub limits our requests")
	case code == http.StatusNotFound:
		f.Kind = Missing
	case code == http.StatusGone, code == http.StatusUnavailableForLegalReasons:
		f.Kind = Gone
	case code == http.StatusForbidden:
		f.Kind = Forbidden
	}
	return f
}

// fate of a token request: 404 is a deleted installation, 403 a suspended one.
func (e *TokenError) fate() Fate {
	switch {
	case e.Status == http.StatusNotFound,
		e.Status == http.StatusGone,
		e.Status == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "suspended"):
		return Fate{Kind: Gone, Reason: "The App's installation was suspended or deleted."}
	case e.Status == http.StatusForbidden:
		return Fate{
			Kind:   Forbidden,
			Reason: sentence("GitHub gives the App no token: " + e.Message),
		}
	case e.Status == http.StatusUnauthorized:
		return Fate{
			Kind:   Retry,
			Reason: "GitHub refuses the App's signature: check APP_ID, PRIVATE_KEY and the clock of this machine.",
		}
	case e.Status >= 400 && e.Status < 500:
		return Fate{
			Kind: Invalid,
			Reason: sentence(
				fmt.Sprintf("GitHub gives the App no token: %d %s", e.Status, e.Message),
			),
		}
	}
	return Fate{
		Kind:   Retry,
		Reason: "GitHub gave the App no token: it could not be reached, or its answer broke off.",
	}
}

// wrote says whether a failed request was a write; net/http keeps the method in its error.
func wrote(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && u.Op != "Get" && u.Op != "Head"
}

// brief cuts outside words to what a line of a log or a summary can bear.
func brief(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func sentence(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".: ") + "." }
