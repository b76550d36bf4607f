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

// ErrorKind says what the caller does after an error.
type ErrorKind string

const (
	Retry   ErrorKind = "retry"   // may succeed later: network, 5xx, a refused token
	After   ErrorKind = "after"   // a rate limit: retry after ErrorClass.After
	Gone    ErrorKind = "gone"    // permanent: 410, or the installation was suspended or deleted
	Missing ErrorKind = "missing" // 404: does not exist, not yet, or is not visible to the App
	// 403 without a rate limit: permission, block, archived repository
	Forbidden ErrorKind = "forbidden"
	Invalid   ErrorKind = "invalid" // the request or the answer is wrong; a retry does not help
)

// ErrorClass is an error sorted by what the caller can do about it.
type ErrorClass struct {
	Kind  ErrorKind     // "" for a nil error
	After time.Duration // how long to wait; only with Kind After, and then at least a second
	// the write may have succeeded, because the answer was lost or was a 5xx: read before writing
	// again
	Unsure bool
	Reason string // one sentence without secrets; may contain a shortened message from GitHub
}

// Classify returns the class of an error of this package or of go-github. Unknown errors are Retry;
// the queue limits the number of attempts.
func Classify(err error) ErrorClass {
	if err == nil {
		return ErrorClass{}
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
		return after(time.Until(limit.Until), "GitHub rate limit reached")
	case errors.As(err, &primary): // go-github remembers an answer without remaining requests
		return after(time.Until(primary.Rate.Reset.Time), "GitHub rate limit reached")
	case errors.As(err, &abuse):
		return after(abuse.GetRetryAfter(), "GitHub rate limit reached")
	case errors.Is(err, ErrForgotten):
		return ErrorClass{Kind: Gone, Reason: "The App's installation was suspended or deleted."}
	case errors.As(err, &token):
		return token.class()
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ErrorClass{
			Kind:   Retry,
			Unsure: wrote(err),
			Reason: "The job was stopped before GitHub responded.",
		}
	case errors.As(err, &dl):
		return dl.class()
	case errors.As(err, &graph):
		return graph.class()
	case errors.Is(err, ErrTooMany):
		return ErrorClass{Kind: Invalid, Reason: sentence(err.Error())}
	case errors.As(err, &otp):
		return status((*gh.ErrorResponse)(otp))
	case errors.As(err, &resp):
		return status(resp)
	}
	return ErrorClass{
		Kind:   Retry,
		Unsure: wrote(err) && !unsent(err),
		Reason: "GitHub could not be reached, or the connection broke.",
	}
}

func after(d time.Duration, what string) ErrorClass {
	d = max(d, time.Second)
	return ErrorClass{
		Kind:   After,
		After:  d,
		Reason: fmt.Sprintf("%s for another %s.", what, d.Round(time.Second)),
	}
}

func status(e *gh.ErrorResponse) ErrorClass {
	code, what := 0, "a request"
	write := false
	if r := e.Response; r != nil {
		code = r.StatusCode
		if q := r.Request; q != nil {
			what = q.Method + " " + q.URL.Path
			write = q.Method != http.MethodGet && q.Method != http.MethodHead
		}
	}
	f := ErrorClass{
		Kind: Invalid,
		Reason: sentence(
			fmt.Sprintf("GitHub returned %d for %s: %s", code, brief(what), brief(e.Message)),
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
		return after(unspecifiedWait, "GitHub rate limit reached")
	case code == http.StatusNotFound:
		f.Kind = Missing
	case code == http.StatusGone, code == http.StatusUnavailableForLegalReasons:
		f.Kind = Gone
	case code == http.StatusForbidden:
		f.Kind = Forbidden
	}
	return f
}

// class classifies a failed token request: 404 is a deleted installation, 403 a suspended one.
func (e *TokenError) class() ErrorClass {
	switch {
	case e.Status == http.StatusNotFound,
		e.Status == http.StatusGone,
		e.Status == http.StatusForbidden && strings.Contains(strings.ToLower(e.Message), "suspended"):
		return ErrorClass{Kind: Gone, Reason: "The App's installation was suspended or deleted."}
	case e.Status == http.StatusForbidden:
		return ErrorClass{
			Kind:   Forbidden,
			Reason: sentence("GitHub issued no token to the App: " + e.Message),
		}
	case e.Status == http.StatusUnauthorized:
		return ErrorClass{
			Kind: Retry,
			Reason: "GitHub rejects the App's signature: check APP_ID, PRIVATE_KEY and the clock of this " +
				"machine.",
		}
	case e.Status >= 400 && e.Status < 500:
		return ErrorClass{
			Kind:   Invalid,
			Reason: sentence(fmt.Sprintf("GitHub issued no token to the App: %d %s", e.Status, e.Message)),
		}
	}
	return ErrorClass{
		Kind:   Retry,
		Reason: "GitHub issued no token to the App: it could not be reached, or the connection broke.",
	}
}

// wrote reports whether a failed request was a write; net/http keeps the method in its error.
func wrote(err error) bool {
	var u *url.Error
	return errors.As(err, &u) && u.Op != "Get" && u.Op != "Head"
}

// brief shortens text from GitHub to fit in a log line or a summary.
func brief(s string) string {
	const most = 200
	s = strings.Join(strings.Fields(strings.ToValidUTF8(s, "")), " ")
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most]) + "…"
}

func sentence(s string) string { return strings.TrimRight(strings.TrimSpace(s), ".: ") + "." }
