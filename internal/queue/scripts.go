package queue

import (
	"context"
	"embed"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/compat-app/compat/internal/lazyregexp"
	"github.com/redis/go-redis/v9"
)

//go:embed lua/*.lua
var luaFiles embed.FS

// callTimeout limits one call: the webhook must respond to GitHub within 10 s, if necessary with
// 503.
const callTimeout = 3 * time.Second

// loadScripts returns the scripts by name, each preceded by the functions of lib.lua that it
// uses.
func loadScripts() (map[string]*redis.Script, error) {
	lib, err := luaFiles.ReadFile("lua/lib.lua")
	if err != nil {
		return nil, err
	}
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		return nil, err
	}
	scripts := map[string]*redis.Script{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".lua")
		if name == "lib" {
			continue
		}
		body, err := luaFiles.ReadFile(path.Join("lua", f.Name()))
		if err != nil {
			return nil, err
		}
		scripts[name] = redis.NewScript(link(string(lib), string(body)))
	}
	return scripts, nil
}

var (
	luaComment = lazyregexp.New(`(?m)[ \t]*--.*$`)
	luaLocal   = lazyregexp.New(`(?m)^local (?:function )?(\w+)`)
)

// link prepends the blocks of lib that a script uses, directly or indirectly, and removes
// comments.
func link(lib, script string) string {
	script = luaComment.ReplaceAllString(script, "")
	blocks := strings.Split(luaComment.ReplaceAllString(lib, ""), "\n\n")
	for _, block := range slices.Backward(blocks) {
		for _, local := range luaLocal.FindAllStringSubmatch(block, -1) {
			if regexp.MustCompile(`\b` + local[1] + `\b`).MatchString(script) {
				script = block + "\n" + script
				break
			}
		}
	}
	return script
}

// run runs a script in a partition, and returns when its changes are stored. The header of each
// script documents the result. A result together with an error means that the script ran but the
// journal could not be written; the next successful call writes it.
func (q *Queue) run(
	ctx context.Context,
	p partition,
	name string,
	args ...any,
) (any, error) {
	if q.o.ReadOnly {
		return nil, fmt.Errorf("queue: %s: %w", name, ErrReadOnly)
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	answer, err := q.script(ctx, p, name, args...)
	if err != nil {
		return nil, err
	}
	return answer, q.sync(ctx, name)
}

func (q *Queue) script(
	ctx context.Context,
	p partition,
	name string,
	args ...any,
) (any, error) {
	if q.ctx.Err() != nil {
		return nil, fmt.Errorf("queue: %s: %w", name, ErrClosed)
	}
	journal := "0"
	if q.journal != nil {
		journal = "1"
	}
	args = append([]any{journal, q.o.PerInstallation}, args...)
	answer, err := q.scripts[name].Run(ctx, q.rdb, []string{string(p)}, args...).Result()
	if err != nil {
		return nil, fmt.Errorf("queue: %s: %w", name, err)
	}
	return answer, nil
}

// number runs a script that returns a number.
func (q *Queue) number(
	ctx context.Context,
	p partition,
	name string,
	args ...any,
) (int64, error) {
	answer, err := q.run(ctx, p, name, args...)
	if err != nil {
		return 0, err
	}
	n, ok := answer.(int64)
	if !ok {
		return 0, fmt.Errorf("queue: %s: the script answered %T, not a number", name, answer)
	}
	return n, nil
}

// sync returns when all changes so far are on disk. With Redis it does nothing.
func (q *Queue) sync(ctx context.Context, op string) error {
	if q.journal == nil || q.o.ReadOnly {
		return nil
	}
	// The change is made already, so a canceled caller must not leave it half stored.
	ctx = context.WithoutCancel(ctx)
	err := q.journal.sync(
		func(written string) (any, error) { return q.script(ctx, prefix, "changes", written) },
	)
	if err != nil {
		return fmt.Errorf("queue: %s: %w", op, err)
	}
	return nil
}
