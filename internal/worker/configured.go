package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/compat-app/compat/comment"
	"github.com/compat-app/compat/config"
)

// configuration is a repository's configuration with a digest of its bytes.
type configuration struct {
	repository *config.Repository
	digest     string // "" without a file
	where      string // the file, for people; of another repository, which has its name before it
	own        bool   // the file is the repository's own
}

// configured reads the configuration of a branch: the base's, never the head's. Where the branch
// has none its organisation's counts.
func (t *task) configured(
	ctx context.Context,
	ref string,
) (configuration, []config.Problem, error) {
	// The folder is read rather than the file: most repositories have no such file, and only what
	// is there can be asked for news without a cost.
	_, folder, _, err := t.client.Repositories.GetContents(
		ctx,
		t.repo.Owner,
		t.repo.Name,
		path.Dir(config.Path),
		&gh.RepositoryContentGetOptions{Ref: ref},
	)
	if err != nil && !notFound(err) {
		return configuration{}, nil, fmt.Errorf("worker: look for the configuration: %w", err)
	}
	at := slices.IndexFunc(
		folder,
		func(f *gh.RepositoryContent) bool { return f.GetPath() == config.Path },
	)
	if at < 0 || folder[at].GetType() == "dir" {
		return t.inherited(ctx)
	}
	own := configuration{where: config.Path, own: true}
	file := folder[at]
	var data string
	switch {
	case file.GetSize() > maxSource:
		return own, []config.Problem{config.TooLarge(file.GetSize())}, nil
	case file.GetType() == "symlink":
		data, _, err = t.content(ctx, ref, config.Path)
	default:
		data, err = t.blob(ctx, file.GetSHA())
	}
	if err != nil {
		return configuration{}, nil, fmt.Errorf("worker: read the configuration: %w", err)
	}
	problems := t.parse(&own, data)
	return own, problems, nil
}

// parse reads the text of a configuration; with problems there is no repository in it.
func (t *task) parse(c *configuration, text string) []config.Problem {
	sum := sha256.Sum256([]byte(text))
	var problems []config.Problem
	c.repository, problems = config.ParseRepository([]byte(text), t.ruleIDs())
	c.digest = hex.EncodeToString(sum[:])
	// what is accepted until yesterday counts no longer, though the file is the same
	if c.repository != nil {
		for i, a := range c.repository.Accept {
			if a.Until != "" && t.today() > a.Until {
				c.digest += fmt.Sprintf("-%d", i)
			}
		}
	}
	return problems
}

// defaults are the repositories of an account in which its repositories' common configuration
// stands, the first one that has it: GitHub's own names for what all of them share, one that
// everybody sees and one that members see.
var defaults = []string{".github", ".github-private"}

// inheritTTL is how long an account's configuration is believed; a push to it is told of at once.
const inheritTTL = 10 * time.Minute

// shared is what was found of an account's common configuration.
type shared struct {
	Repo string `json:"repo"` // "" where there is none
	Text string `json:"text"`
}

func inheritKey(installation int64, owner string) string {
	return fmt.Sprintf("defaults/%d/%s", installation, strings.ToLower(owner))
}

// inherited is the configuration that the repositories of an account have without a file of their
// own.
func (t *task) inherited(ctx context.Context) (configuration, []config.Problem, error) {
	key := inheritKey(t.job.Installation, t.repo.Owner)
	var known *shared
	if err := t.recall(ctx, key, &known); err != nil {
		return configuration{}, nil, err
	}
	if known == nil {
		known = &shared{}
		for _, name := range defaults {
			text, there, err := t.contentOf(ctx, t.account, t.repo.Owner, name, "", config.Path)
			if err != nil && !refused(err) {
				return configuration{}, nil, fmt.Errorf(
					"worker: look for the configuration of %s: %w",
					t.repo.Owner,
					err,
				)
			}
			if there {
				known = &shared{Repo: name, Text: text}
				break
			}
		}
		if err := t.keepFor(ctx, key, known, inheritTTL); err != nil {
			return configuration{}, nil, err
		}
	}
	if known.Repo == "" {
		return configuration{repository: &config.Repository{}, where: config.Path}, nil, nil
	}
	c := configuration{
		where: t.repo.Owner + "/" + known.Repo + ":" + config.Path,
		own:   strings.EqualFold(known.Repo, t.repo.Name),
	}
	problems := t.parse(&c, known.Text)
	return c, problems, nil
}

// speaks applies a configuration's mode of the summary comment to a check.
func (c configuration) speaks(check *comment.Check) {
	if c.repository == nil {
		return
	}
	switch c.repository.Comment.Mode {
	case config.CommentNever:
		check.Sticky, check.Review, check.Mute = "", nil, true
	case config.CommentAlways:
		check.Create = check.Sticky != ""
	case config.CommentOnFailure:
		check.Create = check.Sticky != "" && blocks(check.Conclusion)
	}
}
