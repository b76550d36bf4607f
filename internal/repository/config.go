package repository

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
	"github.com/compat-app/compat/internal/store"
)

// Configuration is the configuration of a repository with a digest of the file.
type Configuration struct {
	*config.Repository        // nil if there are problems
	Digest             string // "" = no file
	// the file name for display, preceded by the repository if that is another one
	Where string
	Own   bool // the file is in this repository
}

// Configuration reads the configuration of a branch, which must be the base and never the head.
// If the branch has no file, that of the organization applies.
func (r *Repository) Configuration(
	ctx context.Context,
	ref string,
) (Configuration, []config.Problem, error) {
	// Read the directory instead of the file: most repositories have no such file, and only
	// responses other than 404 can be revalidated without cost.
	_, folder, _, err := r.Client.Repositories.GetContents(
		ctx,
		r.Owner,
		r.Name,
		path.Dir(config.Path),
		&gh.RepositoryContentGetOptions{Ref: ref},
	)
	if err != nil && !NotFound(err) {
		return Configuration{}, nil, fmt.Errorf("find the configuration: %w", err)
	}
	at := slices.IndexFunc(
		folder,
		func(f *gh.RepositoryContent) bool { return f.GetPath() == config.Path },
	)
	if at < 0 || folder[at].GetType() == "dir" {
		return r.inherited(ctx)
	}
	own := Configuration{Where: config.Path, Own: true}
	file := folder[at]
	var data string
	switch {
	case file.GetSize() > MaxSource:
		return own, []config.Problem{config.TooLarge(file.GetSize())}, nil
	case file.GetType() == "symlink":
		data, _, err = r.Content(ctx, ref, config.Path)
	default:
		data, err = r.Blob(ctx, file.GetSHA())
	}
	if err != nil {
		return Configuration{}, nil, fmt.Errorf("read the configuration: %w", err)
	}
	problems := r.parse(&own, data)
	return own, problems, nil
}

// parse parses a configuration. If there are problems c.Repository is nil.
func (r *Repository) parse(c *Configuration, text string) []config.Problem {
	sum := sha256.Sum256([]byte(text))
	var problems []config.Problem
	c.Repository, problems = config.ParseRepository([]byte(text), r.rules)
	c.Digest = hex.EncodeToString(sum[:])
	// an acceptance that expires changes the result although the file is unchanged
	if c.Repository != nil {
		for i, a := range c.Repository.Accept {
			if a.Until != "" && r.store.Today() > a.Until {
				c.Digest += fmt.Sprintf("-%d", i)
			}
		}
	}
	return problems
}

// defaults are the repositories of an account that may contain the configuration for all its
// repositories; the first one with a file applies. GitHub uses these names for shared files, one
// public and one for members.
var defaults = []string{".github", ".github-private"}

// inheritTTL is how long an account's configuration is cached; a push to it clears the cache.
const inheritTTL = 10 * time.Minute

// shared is the cached configuration of an account.
type shared struct {
	Repo string `json:"repo"` // "" = none
	Text string `json:"text"`
}

func inheritKey(installation int64, owner string) string {
	return fmt.Sprintf("defaults/%d/%s", installation, strings.ToLower(owner))
}

// ForgetDefaults clears the cache if this repository may contain the account's configuration.
func (r *Repository) ForgetDefaults(ctx context.Context) error {
	for _, name := range defaults {
		if strings.EqualFold(name, r.Name) {
			return r.store.Put(ctx, inheritKey(r.installation, r.Owner), nil, time.Second)
		}
	}
	return nil
}

// inherited returns the configuration of the account, for repositories without a file.
func (r *Repository) inherited(ctx context.Context) (Configuration, []config.Problem, error) {
	key := inheritKey(r.installation, r.Owner)
	var known *shared
	if err := r.store.Get(ctx, key, &known); err != nil {
		return Configuration{}, nil, err
	}
	if known == nil {
		known = &shared{}
		for _, name := range defaults {
			text, there, err := r.contentOf(ctx, r.account, r.Owner, name, "", config.Path)
			if err != nil && !Refused(err) {
				return Configuration{}, nil, fmt.Errorf("find the configuration of %s: %w", r.Owner, err)
			}
			if there {
				known = &shared{Repo: name, Text: text}
				break
			}
		}
		if err := r.store.Put(ctx, key, known, inheritTTL); err != nil {
			return Configuration{}, nil, err
		}
	}
	if known.Repo == "" {
		return Configuration{Repository: &config.Repository{}, Where: config.Path}, nil, nil
	}
	c := Configuration{
		Where: r.Owner + "/" + known.Repo + ":" + config.Path,
		Own:   strings.EqualFold(known.Repo, r.Name),
	}
	problems := r.parse(&c, known.Text)
	return c, problems, nil
}

// Speaks applies comment.mode of the configuration to a check.
func (c Configuration) Speaks(check *comment.Check) {
	if c.Repository == nil {
		return
	}
	switch c.Repository.Comment.Mode {
	case config.CommentNever:
		check.Sticky, check.Review, check.Mute = "", nil, true
	case config.CommentAlways:
		check.Create = check.Sticky != ""
	case config.CommentOnFailure:
		check.Create = check.Sticky != "" && store.Blocks(check.Conclusion)
	}
}
