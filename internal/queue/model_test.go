package queue

import (
	"cmp"
	"slices"
)

// model is a queue of a few maps without time. It predicts the result of each call, except the
// order of installations.
type model struct {
	cap, maxAttempts, maxCrashes int

	numbers int
	jobs    map[string]*modelJob
	marks   map[string]bool
	states  map[string]string
	parked  map[int64]bool
}

type modelJob struct {
	modelWork
	key               string
	state             State
	attempts, crashes int
	losses            int
	risk, large       bool
	lease             int // of the worker that runs it
	next              *modelWork
}

// modelWork is what a newer job replaces.
type modelWork struct {
	gen, seq int
	inst     int64
	forceID  string
	prio     Priority
}

func (m *model) number() int {
	m.numbers++
	return m.numbers
}

func (m *model) enqueue(guid string, jobs ...Job) (duplicate bool, gens []int, superseded int) {
	again := map[string]bool{}
	if m.marks[guid] {
		for _, j := range jobs {
			if old := m.jobs[j.Key]; old != nil && old.state == Dead {
				again[j.Key] = true
			}
		}
		if len(again) == 0 {
			return true, nil, 0
		}
	}
	for _, j := range jobs {
		if len(again) > 0 && !again[j.Key] {
			continue
		}
		gen, took := m.store(j)
		gens = append(gens, gen)
		if took {
			superseded++
		}
	}
	if guid != "" {
		m.marks[guid] = true
	}
	return false, gens, superseded
}

func (m *model) store(n Job) (gen int, superseded bool) {
	w := modelWork{gen: m.number(), inst: n.Installation, forceID: n.ForceID, prio: n.Priority}
	w.seq = w.gen
	j := m.jobs[n.Key]
	if j == nil {
		m.jobs[n.Key] = &modelJob{modelWork: w, key: n.Key, state: Waiting}
		return w.gen, false
	}
	if j.state == Running {
		if old := j.next; old != nil {
			w.seq, w.prio, w.forceID = old.seq, max(w.prio, old.prio), cmp.Or(w.forceID, old.forceID)
		}
		w.forceID = cmp.Or(w.forceID, j.forceID)
		j.next = &w
		return w.gen, true
	}
	w.forceID = cmp.Or(w.forceID, j.forceID)
	if superseded = j.state != Dead; superseded {
		w.seq, w.prio = j.seq, max(w.prio, j.prio)
	} else {
		j.crashes, j.losses = 0, 0
	}
	j.modelWork, j.attempts, j.state = w, 0, Waiting
	return w.gen, superseded
}

// claimable returns the keys that a claim may return: the first of each installation and pool that
// may be claimed.
func (m *model) claimable() (first []*modelJob) {
	type line struct {
		inst  int64
		large bool
	}
	running := map[int64]int{}
	lines := map[line]*modelJob{}
	for _, j := range m.jobs {
		switch j.state {
		case Running:
			running[j.inst]++
		case Waiting:
			of := line{j.inst, j.large}
			if f := lines[of]; f == nil || j.prio > f.prio || j.prio == f.prio && j.seq < f.seq {
				lines[of] = j
			}
		}
	}
	for of, j := range lines {
		if running[of.inst] < m.cap && !m.parked[of.inst] {
			first = append(first, j)
		}
	}
	return first
}

// held returns the job of a lease; nil = the lease is lost.
func (m *model) held(key string, lease int) *modelJob {
	if j := m.jobs[key]; j != nil && j.state == Running && j.lease == lease {
		return j
	}
	return nil
}

// end ends a lease. If no newer job waits, the job gets the state otherwise ("" = removed).
func (m *model) end(j *modelJob, otherwise State) (newer bool) {
	j.crashes, j.losses = 0, 0
	if m.promote(j) {
		return true
	}
	if j.state = otherwise; otherwise == "" {
		delete(m.jobs, j.key)
	}
	return false
}

func (m *model) promote(j *modelJob) bool {
	if j.next == nil {
		return false
	}
	j.modelWork, j.next, j.attempts, j.state = *j.next, nil, 0, Waiting
	return true
}

func (m *model) retry(j *modelJob) {
	attempts := j.attempts + 1
	state := Delayed
	if attempts >= m.maxAttempts {
		state = Dead
	}
	if !m.end(j, state) {
		j.attempts = attempts
	}
}

func (m *model) release(j *modelJob) {
	if !m.promote(j) {
		j.state = Waiting
	}
}

func (m *model) crash(j *modelJob) {
	m.promote(j)
	j.losses++
	if j.risk {
		j.crashes++
	}
	switch {
	case j.crashes >= m.maxCrashes, j.losses >= 4*m.maxCrashes:
		j.state = Dead
	case j.crashes < 2 && j.losses <= m.maxCrashes:
		j.state = Waiting
	default:
		j.state = Delayed
	}
}

func (m *model) dropInstallation(inst int64) {
	for key, j := range m.jobs {
		if j.inst != inst {
			continue
		}
		if j.next == nil || j.next.inst == inst || !m.promote(j) {
			delete(m.jobs, key)
		}
	}
}

func (m *model) in(state State) (keys []string) {
	for key, j := range m.jobs {
		if j.state == state {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys
}
