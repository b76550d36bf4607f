package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Budget limits the commands in an hour: per person, per repository and per installation.
type Budget struct {
	Person, Repository, Installation int
}

// A command takes about four API calls, in addition to the check that it may start; GitHub allows
// an installation 5,000 calls an hour. People without write access have separate budgets, so that
// they cannot exhaust those of maintainers.
var (
	WriterBudget   = Budget{Person: 300, Repository: 600, Installation: 1200}
	StrangerBudget = Budget{Person: 30, Repository: 100, Installation: 200}
)

const budgetWindow = time.Hour

// Spender is the author of commands and their location.
type Spender struct {
	Installation, Repository int64
	Login                    string
	Writer                   bool // has write access to the repository
}

// charge is a request that was counted.
type charge struct {
	Request    string    `json:"request"`
	Login      string    `json:"login"`
	Repository int64     `json:"repository"`
	Commands   int       `json:"commands"`
	At         time.Time `json:"at"`
}

func strangersKey(installation int64) string {
	return fmt.Sprintf("budget/%d/strangers", installation)
}

// Refuses reports whether Spend will refuse the commands of a request, of a person who had no write
// access in the last hour. It returns false for a person who is not known.
func (s *Store) Refuses(
	ctx context.Context,
	by Spender,
	request string,
	commands int,
) (bool, error) {
	var charges []charge
	if err := s.Get(ctx, strangersKey(by.Installation), &charges); err != nil {
		return false, err
	}
	by.Writer = false
	spent, known := s.spent(charges, by, request, commands)
	return known && !spent.within(StrangerBudget), nil
}

// spent sums up the commands of the last hour and of a request. known means that the person has
// sent any, or that the request is known: then nothing is added for it.
func (s *Store) spent(
	charges []charge,
	by Spender,
	request string,
	commands int,
) (spent Budget, known bool) {
	now := s.Now().UTC()
	spent = Budget{Person: commands, Repository: commands, Installation: commands}
	for _, c := range charges {
		if now.Sub(c.At) >= budgetWindow {
			continue
		}
		if c.Request == request && c.Commands > 0 {
			return Budget{}, true
		}
		spent.Installation += c.Commands
		if c.Repository == by.Repository {
			spent.Repository += c.Commands
		}
		if strings.EqualFold(c.Login, by.Login) {
			spent.Person += c.Commands
			known = true
		}
	}
	return spent, known
}

func (b Budget) within(limit Budget) bool {
	return b.Person <= limit.Person && b.Repository <= limit.Repository &&
		b.Installation <= limit.Installation
}

// maxCharges limits the requests that are remembered, of an installation.
const maxCharges = 2000

// Spend counts the commands of a request and reports whether the budgets of the person,
// repository and installation allow them. Refused commands are not counted, but their author is
// remembered. A repeated request gets the same result and is counted once.
func (s *Store) Spend(
	ctx context.Context,
	by Spender,
	request string,
	commands int,
) (allowed bool, _ error) {
	limit, key := StrangerBudget, strangersKey(by.Installation)
	if by.Writer {
		limit, key = WriterBudget, fmt.Sprintf("budget/%d/writers", by.Installation)
	}
	change := func(charges []charge) ([]charge, bool, error) {
		now := s.Now().UTC()
		charges = slices.DeleteFunc(charges, func(c charge) bool {
			return now.Sub(c.At) >= budgetWindow
		})
		spent, known := s.spent(charges, by, request, commands)
		allowed = spent.within(limit)
		if spent == (Budget{}) || !allowed && (known || len(charges) >= maxCharges) {
			return charges, false, nil
		}
		if !allowed {
			commands = 0
		}
		return append(charges, charge{request, by.Login, by.Repository, commands, now}), true, nil
	}
	err := update(ctx, s, key, budgetWindow, change)
	return allowed, err
}
