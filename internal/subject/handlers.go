package subject

import (
	"github.com/compat-app/compat/internal/job"
	"github.com/compat-app/compat/internal/repository"
	"github.com/compat-app/compat/internal/worker"
)

// Handlers returns the handler of each job kind of this package.
func (s *Service) Handlers() map[job.Kind]worker.Handler {
	return map[job.Kind]worker.Handler{
		job.KindPull:              repository.Handle(s.opener, s.pull),
		job.KindCommit:            repository.Handle(s.opener, s.commit),
		job.KindMergeGroup:        repository.Handle(s.opener, s.mergeGroup),
		job.KindRelease:           repository.Handle(s.opener, s.release),
		job.KindDeployment:        repository.Handle(s.opener, s.deployment),
		job.KindDefaultBranch:     repository.Handle(s.opener, s.defaultBranch),
		job.KindBaseAnalysis:      repository.Handle(s.opener, s.baseAnalysis),
		job.KindRepositoryRemoved: worker.Handle(s.removed),
		job.KindRepositoryRenamed: worker.Handle(s.renamed),
		job.KindInstallationEnded: worker.Handle(s.installationEnded),
	}
}
