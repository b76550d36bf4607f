package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/compat-app/compat/config"
	"github.com/compat-app/compat/internal/queue"
)

func newQueueCommand(env environment) *cobra.Command {
	c := &cobra.Command{
		Use:   "queue",
		Short: "Inspect and repair the queue of the GitHub App",
		Long: `Inspect the queue of the GitHub App, retry jobs and drop jobs.

The queue is in the Redis of REDIS_URL, else in the folder COMPAT_DATA (./compat-data). Only one
process can open the queue in a folder: stop "compat serve" first.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(
		newQueueListCommand(env),
		newQueueShowCommand(env),
		newQueueChangeCommand(
			env,
			"retry",
			"Run a dead or delayed job now",
			"will run",
			(*queue.Queue).RetryDead,
		),
		newQueueChangeCommand(env, "drop", "Remove a job in any state", "removed", (*queue.Queue).Drop),
		newQueueRepartitionCommand(env),
	)
	return c
}

func newQueueListCommand(env environment) *cobra.Command {
	var state string
	var installation int64
	var asJSON bool
	c := &cobra.Command{
		Use:   "ls",
		Short: "List the waiting, running, delayed and dead jobs, oldest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			f := queue.Filter{State: queue.State(state), Installation: installation}
			if state != "" && !strings.Contains(" waiting running delayed dead ", " "+state+" ") {
				return fmt.Errorf("unknown --state %s; use waiting, running, delayed or dead", state)
			}
			return withQueue(
				c.Context(),
				env,
				true,
				func(ctx context.Context, q *queue.Queue) error {
					entries, err := q.List(ctx, f)
					if err != nil {
						return err
					}
					if asJSON {
						return printJSON(env.Out, append([]queue.Entry{}, entries...))
					}
					return printEntries(env, entries, time.Now())
				},
			)
		},
	}
	c.Flags().StringVar(&state, "state", "",
		"only jobs in this state: waiting, running, delayed or dead")
	c.Flags().Int64Var(&installation, "installation", 0, "only jobs of this installation")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func newQueueShowCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:     "show KEY",
		Short:   "Print one job as JSON",
		Example: "  compat queue show pull/4711/12",
		Args:    oneKey,
		RunE: func(c *cobra.Command, args []string) error {
			return withQueue(
				c.Context(),
				env,
				true,
				func(ctx context.Context, q *queue.Queue) error {
					e, err := q.Show(ctx, args[0])
					if err != nil {
						return explainKey(err)
					}
					return printJSON(env.Out, e)
				},
			)
		},
	}
}

func newQueueChangeCommand(
	env environment,
	name, short, outcome string,
	change func(*queue.Queue, context.Context, string) error,
) *cobra.Command {
	return &cobra.Command{
		Use: name + " KEY", Short: short, Example: "  compat queue " + name + " pull/4711/12",
		Args: oneKey,
		RunE: func(c *cobra.Command, args []string) error {
			return withQueue(
				c.Context(),
				env,
				false,
				func(ctx context.Context, q *queue.Queue) error {
					if err := change(q, ctx, args[0]); err != nil {
						return explainKey(err)
					}
					_, err := fmt.Fprintln(env.Out, plain(args[0]), outcome)
					return err
				},
			)
		},
	}
}

func newQueueRepartitionCommand(env environment) *cobra.Command {
	return &cobra.Command{
		Use:   "repartition N",
		Short: "Divide the queue into N partitions while it is in use",
		Long: `Divide the queue into N partitions, which a Redis Cluster distributes over its masters. A multiple
of the number of masters gives each the same load.

The service continues to run. New jobs use the new partitions at once, waiting ones are moved, and
running ones end first: the command returns when all have. If it is interrupted, the service
continues. Set COMPAT_PARTITIONS to N before the next start of a process.`,
		Example: "  compat queue repartition 48",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("%s: give one number of partitions", c.CommandPath())
			}
			n, err := strconv.Atoi(args[0])
			if err != nil {
				return fmt.Errorf("%s: %q is not a number", c.CommandPath(), args[0])
			}
			last := -1
			progress := func(left int) {
				switch {
				case left == last:
				case left == 1:
					fmt.Fprintln(env.Err, "1 job left")
				default:
					fmt.Fprintf(env.Err, "%d jobs left\n", left)
				}
				last = left
			}
			return withQueue(c.Context(), env, false, func(ctx context.Context, q *queue.Queue) error {
				if err := q.Repartition(ctx, n, progress); err != nil {
					return err
				}
				_, err := fmt.Fprintf(env.Out, "the queue has %d partitions; set COMPAT_PARTITIONS=%[1]d\n", n)
				return err
			})
		},
	}
}

func oneKey(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("%s: give one KEY; 'compat queue ls' lists the jobs", c.CommandPath())
	}
	return nil
}

// explainKey adds what to do about an unknown key.
func explainKey(err error) error {
	if errors.Is(err, queue.ErrNotFound) {
		return fmt.Errorf("%w; 'compat queue ls' lists the jobs", err)
	}
	return err
}

// withQueue opens the queue of serve and calls f. If look is set, an embedded queue is opened
// read-only.
func withQueue(
	ctx context.Context,
	env environment,
	look bool,
	f func(context.Context, *queue.Queue) error,
) error {
	url, _ := env.Getenv("REDIS_URL")
	dir, _ := env.Getenv("COMPAT_DATA")
	dir = cmp.Or(dir, config.DefaultData)
	queue.LogClient(slog.New(slog.DiscardHandler)) // the errors below have what it would log
	q, err := queue.Open(ctx, queue.Options{URL: url, Dir: dir, ReadOnly: look && url == ""})
	if errors.Is(err, queue.ErrLocked) {
		return fmt.Errorf(
			"the embedded queue is in use by 'compat serve'; stop it first, or use REDIS_URL for both "+
				"(compat_queue_jobs on COMPAT_ADMIN_ADDR has the number of its jobs): %w",
			err,
		)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w; set COMPAT_DATA or REDIS_URL to that of 'compat serve'", err)
	}
	if err != nil {
		return err
	}
	if _, err := q.Stats(ctx); err != nil { // not Ping: a full Redis can still be read and emptied
		return errors.Join(fmt.Errorf("the Redis of REDIS_URL does not respond: %w", err), q.Close())
	}
	return errors.Join(f(ctx, q), q.Close())
}

func printEntries(env environment, entries []queue.Entry, now time.Time) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(env.Out, "no jobs")
		return err
	}
	w := tabwriter.NewWriter(env.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "STATE\tKEY\tINSTALLATION\tBY\tFOR\tFAILURES\tDUE\tREASON")
	for _, e := range entries {
		due := ""
		switch left := e.Due.Sub(now).Round(time.Second); {
		case e.Due.IsZero():
		case left <= 0:
			due = "now"
		default:
			due = "in " + left.String()
		}
		fmt.Fprintf(
			w,
			"%s\t%s\t%d\t%s\t%s\t%d\t%s\t%s\n",
			e.State,
			plain(e.Job.Key),
			e.Job.Installation,
			plain(e.By),
			now.Sub(e.Since).Round(time.Second),
			e.Attempts+e.Losses,
			due,
			plain(e.Reason),
		)
	}
	return w.Flush()
}

// plain returns untrusted text for one line of a terminal. Characters that are not printable are
// escaped.
func plain(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return s
	}
	quoted := strconv.Quote(s)
	return quoted[1 : len(quoted)-1]
}
