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

// Spend counts the commands of a request and reports whether the budgets of the person,
// repository and installation allow them. Refused commands are not counted. A repeated request
// gets the same result and is counted once.
func (s *Store) Spend(
	ctx context.Context,
	by Spender,
	request string,
	commands int,
) (allowed bool, _ error) {
	limit, key := StrangerBudget, fmt.Sprintf("budget/%d/strangers", by.Installation)
	if by.Writer {
		limit, key = WriterBudget, fmt.Sprintf("budget/%d/writers", by.Installation)
	}
	change := func(charges []charge) ([]charge, bool, error) {
		now := s.Now().UTC()
		charges = slices.DeleteFunc(charges, func(c charge) bool {
			return now.Sub(c.At) >= budgetWindow
		})
		spent := Budget{Person: commands, Repository: commands, Installation: commands}
		for _, c := range charges {
			if c.Request == request {
				allowed = true
				return charges, false, nil
			}
			spent.Installation += c.Commands
			if c.Repository == by.Repository {
				spent.Repository += c.Commands
			}
			if strings.EqualFold(c.Login, by.Login) {
				spent.Person += c.Commands
			}
		}
		allowed = spent.Person <= limit.Person && spent.Repository <= limit.Repository &&
			spent.Installation <= limit.Installation
		return append(charges, charge{request, by.Login, by.Repository, commands, now}), allowed, nil
	}
	err := update(ctx, s, key, budgetWindow, change)
	return allowed, err
}
