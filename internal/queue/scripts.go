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

// loadScripts returns the scripts by name.
func loadScripts() (map[string]*redis.Script, error) {
	texts, err := scriptTexts()
	if err != nil {
		return nil, err
	}
	scripts := map[string]*redis.Script{}
	for name, text := range texts {
		scripts[name] = redis.NewScript(text)
	}
	return scripts, nil
}

// scriptTexts returns the scripts by name, each preceded by the functions of lib.lua that it
// uses.
func scriptTexts() (map[string]string, error) {
	lib, err := luaFiles.ReadFile("lua/lib.lua")
	if err != nil {
		return nil, err
	}
	files, err := luaFiles.ReadDir("lua")
	if err != nil {
		return nil, err
	}
	texts := map[string]string{}
	for _, f := range files {
		name := strings.TrimSuffix(f.Name(), ".lua")
		if name == "lib" {
			continue
		}
		body, err := luaFiles.ReadFile(path.Join("lua", f.Name()))
		if err != nil {
			return nil, err
		}
		texts[name] = link(string(lib), string(body))
	}
	return texts, nil
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
// script documents the result.
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
	if q.ctx.Err() != nil {
		return nil, fmt.Errorf("queue: %s: %w", name, ErrClosed)
	}
	args = append([]any{q.o.PerInstallation}, args...)
	var answer any
	var err error
	if q.engine != nil {
		answer, err = q.engine.script(ctx, p, name, args)
	} else {
		answer, err = q.scripts[name].Run(ctx, q.rdb, []string{string(p)}, args...).Result()
	}
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
