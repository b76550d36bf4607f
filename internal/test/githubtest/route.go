package githubtest

import (
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// operation is an operation of GitHub's API: path template and ID of GitHub's description, the
// permission that it needs, and its implementation.
type operation struct {
	method, path, id string
	// "checks:write"; "a|b": one of them; "token": any installation token; "jwt": the App itself;
	// "any": either, or no authentication; "nothing": no
	// authentication
	needs string
	do    func(*Server, *request) (any, error)
}

// operations are the supported operations; the first match is used. A parameter matches one
// segment of the path, only digits if its name ends in _id or _number, and several segments with
// "...", because GitHub accepts slashes in refs.
var operations = []*operation{
	{"GET", "/app", "apps/get-authenticated", "jwt", (*Server).getApp},
	{"GET", "/app/installations", "apps/list-installations", "jwt", (*Server).listInstallations},
	{
		"GET",
		"/app/installations/{installation_id}",
		"apps/get-installation",
		"jwt",
		(*Server).getInstallation,
	},
	{
		"POST",
		"/app/installations/{installation_id}/access_tokens",
		"apps/create-installation-access-token",
		"jwt",
		(*Server).createToken,
	},
	{
		"GET",
		"/app/hook/deliveries",
		"apps/list-webhook-deliveries",
		"jwt",
		(*Server).listDeliveries,
	},
	{
		"GET",
		"/app/hook/deliveries/{delivery_id}",
		"apps/get-webhook-delivery",
		"jwt",
		(*Server).getDelivery,
	},
	{
		"POST",
		"/app/hook/deliveries/{delivery_id}/attempts",
		"apps/redeliver-webhook-delivery",
		"jwt",
		(*Server).redeliver,
	},
	{
		"POST",
		"/app-manifests/{code}/conversions",
		"apps/create-from-manifest",
		"nothing",
		(*Server).convert,
	},
	{
		"GET",
		"/installation/repositories",
		"apps/list-repos-accessible-to-installation",
		"token",
		(*Server).listRepos,
	},
	{"GET", "/rate_limit", "rate-limit/get", "any", (*Server).getRateLimit},
	{"POST", "/graphql", "graphql", "token", (*Server).graphql},

	{"GET", "/repos/{owner}/{repo}", "repos/get", "metadata:read", (*Server).getRepo},
	{
		"GET",
		"/repos/{owner}/{repo}/installation",
		"apps/get-repo-installation",
		"jwt",
		(*Server).getRepoInstallation,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/contents/{path...}",
		"repos/get-content",
		"contents:read",
		(*Server).getContent,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/git/trees/{tree_sha}",
		"git/get-tree",
		"contents:read",
		(*Server).getTree,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/git/blobs/{file_sha}",
		"git/get-blob",
		"contents:read",
		(*Server).getBlob,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/git/ref/{ref...}",
		"git/get-ref",
		"contents:read",
		(*Server).getRef,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/git/tags/{tag_sha}",
		"git/get-tag",
		"contents:read",
		(*Server).getTag,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/compare/{basehead...}",
		"repos/compare-commits-with-basehead",
		"contents:read",
		(*Server).compare,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/git/matching-refs/{ref...}",
		"git/list-matching-refs",
		"contents:read",
		(*Server).matchingRefs,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/branches/{branch...}",
		"repos/get-branch",
		"contents:read",
		(*Server).getBranch,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/commits",
		"repos/list-commits",
		"contents:read",
		(*Server).listCommits,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/commits/{commit_sha}/pulls",
		"repos/list-pull-requests-associated-with-commit",
		"pull_requests:read",
		(*Server).commitPulls,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/commits/{ref...}/check-runs",
		"checks/list-for-ref",
		"checks:read",
		(*Server).listChecks,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/commits/{ref...}/check-suites",
		"checks/list-suites-for-ref",
		"checks:read",
		(*Server).listSuites,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/commits/{ref...}",
		"repos/get-commit",
		"contents:read",
		(*Server).getCommit,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/collaborators/{username}/permission",
		"repos/get-collaborator-permission-level",
		"metadata:read",
		(*Server).getPermission,
	},

	{
		"POST",
		"/repos/{owner}/{repo}/check-runs",
		"checks/create",
		"checks:write",
		(*Server).createCheck,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/check-runs/{check_run_id}",
		"checks/get",
		"checks:read",
		(*Server).getCheck,
	},
	{
		"PATCH",
		"/repos/{owner}/{repo}/check-runs/{check_run_id}",
		"checks/update",
		"checks:write",
		(*Server).updateCheck,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/check-runs/{check_run_id}/annotations",
		"checks/list-annotations",
		"checks:read",
		(*Server).listAnnotations,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/check-suites/{check_suite_id}",
		"checks/get-suite",
		"checks:read",
		(*Server).getSuite,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/check-suites/{check_suite_id}/check-runs",
		"checks/list-for-suite",
		"checks:read",
		(*Server).listSuiteChecks,
	},

	{"GET", "/repos/{owner}/{repo}/pulls", "pulls/list", "pull_requests:read", (*Server).listPulls},
	{
		"PATCH",
		"/repos/{owner}/{repo}/pulls/comments/{comment_id}",
		"pulls/update-review-comment",
		"pull_requests:write",
		(*Server).updateReviewComment,
	},
	{
		"DELETE",
		"/repos/{owner}/{repo}/pulls/comments/{comment_id}",
		"pulls/delete-review-comment",
		"pull_requests:write",
		(*Server).deleteReviewComment,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/pulls/{pull_number}",
		"pulls/get",
		"pull_requests:read",
		(*Server).getPull,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/pulls/{pull_number}/files",
		"pulls/list-files",
		"pull_requests:read",
		(*Server).listPullFiles,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
		"pulls/list-reviews",
		"pull_requests:read",
		(*Server).listReviews,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/pulls/{pull_number}/reviews",
		"pulls/create-review",
		"pull_requests:write",
		(*Server).createReview,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/pulls/{pull_number}/comments",
		"pulls/list-review-comments",
		"pull_requests:read",
		(*Server).listReviewComments,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/pulls/{pull_number}/comments",
		"pulls/create-review-comment",
		"pull_requests:write",
		(*Server).createReviewComment,
	},

	{
		"POST",
		"/repos/{owner}/{repo}/pulls/{pull_number}/comments/{comment_id}/replies",
		"pulls/create-reply-for-review-comment",
		"pull_requests:write",
		(*Server).createReply,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/pulls/comments/{comment_id}/reactions",
		"reactions/create-for-pull-request-review-comment",
		"pull_requests:write",
		(*Server).createReviewReaction,
	},

	{
		"GET",
		"/repos/{owner}/{repo}/issues/comments/{comment_id}",
		"issues/get-comment",
		"issues:read|pull_requests:read",
		(*Server).getComment,
	},
	{
		"PATCH",
		"/repos/{owner}/{repo}/issues/comments/{comment_id}",
		"issues/update-comment",
		"issues:write|pull_requests:write",
		(*Server).updateComment,
	},
	{
		"DELETE",
		"/repos/{owner}/{repo}/issues/comments/{comment_id}",
		"issues/delete-comment",
		"issues:write|pull_requests:write",
		(*Server).deleteComment,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
		"reactions/list-for-issue-comment",
		"issues:read|pull_requests:read",
		(*Server).listReactions,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/issues/comments/{comment_id}/reactions",
		"reactions/create-for-issue-comment",
		"issues:write|pull_requests:write",
		(*Server).createReaction,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/issues/{issue_number}/comments",
		"issues/list-comments",
		"issues:read|pull_requests:read",
		(*Server).listComments,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/issues/{issue_number}/comments",
		"issues/create-comment",
		"issues:write|pull_requests:write",
		(*Server).createComment,
	},

	{
		"GET",
		"/repos/{owner}/{repo}/actions/runs",
		"actions/list-workflow-runs-for-repo",
		"actions:read",
		(*Server).listRuns,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/runs/{run_id}",
		"actions/get-workflow-run",
		"actions:read",
		(*Server).getRun,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/runs/{run_id}/artifacts",
		"actions/list-workflow-run-artifacts",
		"actions:read",
		(*Server).listArtifacts,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/runs/{run_id}/jobs",
		"actions/list-jobs-for-workflow-run",
		"actions:read",
		(*Server).listJobs,
	},
	{
		"POST",
		"/repos/{owner}/{repo}/actions/runs/{run_id}/deployment_protection_rule",
		"actions/review-custom-gates-for-run",
		"deployments:write",
		(*Server).answerGate,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/jobs/{job_id}/logs",
		"actions/download-job-logs-for-workflow-run",
		"actions:read",
		(*Server).downloadLog,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/artifacts/{artifact_id}",
		"actions/get-artifact",
		"actions:read",
		(*Server).getArtifact,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/actions/artifacts/{artifact_id}/{archive_format}",
		"actions/download-artifact",
		"actions:read",
		(*Server).downloadArtifact,
	},

	{
		"GET",
		"/repos/{owner}/{repo}/releases",
		"repos/list-releases",
		"contents:read",
		(*Server).listReleases,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/releases/tags/{tag...}",
		"repos/get-release-by-tag",
		"contents:read",
		(*Server).getReleaseByTag,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/releases/assets/{asset_id}",
		"repos/get-release-asset",
		"contents:read",
		(*Server).getAsset,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/releases/{release_id}",
		"repos/get-release",
		"contents:read",
		(*Server).getRelease,
	},
	{
		"GET",
		"/repos/{owner}/{repo}/releases/{release_id}/assets",
		"repos/list-release-assets",
		"contents:read",
		(*Server).listAssets,
	},
}

// Operation is an operation that the server supports.
type Operation struct {
	Method, Path, ID string // Path is GitHub's template: /repos/{owner}/{repo}
}

// Operations returns the supported operations, without GraphQL, in the order of the table.
func Operations() []Operation {
	var out []Operation
	for _, op := range operations {
		if op.id != "graphql" {
			out = append(out, Operation{op.method, op.template(), op.id})
		}
	}
	return out
}

func (op *operation) template() string { return strings.Replace(op.path, "...}", "}", 1) }

// match finds the operation of an escaped path, and sets its template and parameters in r; nil =
// none.
func match(r *http.Request, escaped string) *operation {
	segments := strings.Split(escaped, "/")
	for _, op := range operations {
		if op.method != r.Method {
			continue
		}
		if values, ok := op.values(segments); ok {
			r.Pattern = op.method + " " + op.template()
			for name, v := range values {
				r.SetPathValue(name, v)
			}
			return op
		}
	}
	return nil
}

func (op *operation) values(segments []string) (map[string]string, bool) {
	values := map[string]string{}
	want := strings.Split(op.path, "/")
	for i, w := range want {
		if len(segments) < len(want)-i {
			return nil, false
		}
		name, isParam := strings.CutPrefix(strings.TrimSuffix(w, "}"), "{")
		name, isLong := strings.CutSuffix(name, "...")
		take := 1
		if isLong { // all but the segments for the rest of the template
			take = len(segments) - (len(want) - i - 1)
		}
		got, err := url.PathUnescape(strings.Join(segments[:take], "/"))
		segments = segments[take:]
		switch {
		case !isParam && got != w, err != nil, isParam && got == "":
			return nil, false
		case isParam && (strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_number")) &&
			strings.Trim(got, "0123456789") != "":
			return nil, false
		case isParam:
			values[name] = got
		}
	}
	return values, len(segments) == 0
}

// allowed reports whether permissions include what an operation needs.
func allowed(needs string, have map[string]string) bool {
	return slices.ContainsFunc(strings.Split(needs, "|"), func(need string) bool {
		name, level, _ := strings.Cut(need, ":")
		return have[name] == "write" || have[name] == level && level != ""
	})
}
