package skill

import "context"

// ContextMode says who carries out a skill. Anything but the constants means the agent itself.
type ContextMode string

const (
	// ContextModeFork hands the skill to another agent, which sees nothing but the skill.
	ContextModeFork ContextMode = "fork"
	// ContextModeForkWithContext hands the skill to another agent, which sees the conversation, too.
	ContextModeForkWithContext ContextMode = "fork_with_context"
)

// FrontMatter holds the fields at the head of a SKILL.md.
type FrontMatter struct {
	// Name is the name of the skill for the model.
	Name string `yaml:"name"`
	// Description says to the model what the skill is good for.
	Description string `yaml:"description"`
	// Context says who carries out the skill.
	Context ContextMode `yaml:"context"`
	// Agent is the name of the agent that carries out a forked skill, for the [TypedAgentHub].
	Agent string `yaml:"agent"`
	// Model is the name of the model to continue with, for the [TypedModelHub]; "" means the one that there is.
	Model string `yaml:"model"`
}

// Skill is a skill with its text.
type Skill struct {
	FrontMatter
	// Content is the text without the front matter.
	Content string
	// BaseDirectory is the directory of the files that the text mentions.
	BaseDirectory string
}

// Backend knows the skills. Its methods must be safe for concurrent use.
type Backend interface {
	// List returns all skills. It is called at the start of each run. Their order should stay the same, so that the
	// prompt does.
	List(ctx context.Context) ([]FrontMatter, error)
	// Get returns a skill by its name.
	Get(ctx context.Context, name string) (Skill, error)
}
