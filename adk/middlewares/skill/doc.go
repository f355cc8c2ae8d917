// Package skill teaches an agent how to do things when it needs to know, and not before.
//
// A skill is a text, usually a file SKILL.md with helper files beside it, that says how to do one kind of task. The
// agent sees only the names and descriptions of all skills, in the description of one tool; calling that tool loads a
// skill's text. A skill may ask for a model of its own ([TypedConfig.ModelHub]), or to be carried out by another agent
// ([TypedConfig.AgentHub]) that gets the skill alone ([ContextModeFork]) or the conversation as well
// ([ContextModeForkWithContext]).
//
// [NewBackendFromFilesystem] finds skills in a directory. Skills that come, change or go are seen at the next run.
package skill
