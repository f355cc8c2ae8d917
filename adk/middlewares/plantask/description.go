package plantask

// What the model reads about the tools, in English.
const (
	createDesc = `Adds a task to the task list of this work. The list helps you to plan and to keep track, and shows the user how far you are.

When to use it:
- The work takes three steps or more, or needs care and planning.
- The user asks for a list, or asks for several things at once.
- You are in plan mode, or get new instructions: write down at once what follows from them.
- You start on something: create its task first. You find out that more is to be done: add tasks for it.

When not to use it:
- One simple step, or two.
- Conversation, or a question that is answered at once. Then just do it.

Fields:
- subject: what is to be done, short, as an order ("Fix the login test").
- description: what belongs to it, so that another agent could do it, and when it is done.
- activeForm: always give it. It is what the user sees while the task is in progress ("Fixing the login test").
- metadata: anything else to keep, optional.

A new task is pending and has no owner. Call TaskList before, so that nothing is there twice. Dependencies are set with TaskUpdate (addBlocks, addBlockedBy).`

	getDesc = `Shows one task with everything about it: subject, status, description, owner, the tasks that it waits for and those that wait for it.

- Use it before you start on a task, to know what belongs to it, and to understand what depends on it.
- Check that "Blocked by" is empty, or that the tasks there are completed, before you start.
- TaskList gives the overview of all tasks.`

	listDesc = `Lists all tasks: ID, status, subject, owner, and the tasks that each waits for.

- Use it to see how far the work is, what can be done now (pending, no owner, not blocked) and what is blocked.
- Use it again after you have completed a task, to find the next one and to see what is free to start now.
- Work on tasks in the order of their IDs, the lowest first, unless there is a reason not to: earlier tasks often prepare later ones.
- TaskGet shows a task with all that belongs to it.`

	updateDesc = `Changes a task of the task list. Fields that are not given stay as they are.

Status: pending → in_progress → completed. deleted removes a task for good.
- Set in_progress when you start on a task, before the work.
- Set completed only when all of it is done. Do not if tests fail, if something is missing, if there are errors that you could not solve: leave it in_progress, and create a task for what stands in the way.
- Set deleted for a task that is not needed any more, or was created by mistake.
- After completing a task call TaskList to find the next.

Other fields: subject, description, activeForm, owner; metadata (its keys are merged, null removes one); addBlocks (tasks that have to wait for this one); addBlockedBy (tasks that this one has to wait for).

Others may have changed the task: read it with TaskGet before you change it.

Examples:
{"taskId": "1", "status": "in_progress"}
{"taskId": "1", "status": "completed"}
{"taskId": "1", "status": "deleted"}
{"taskId": "1", "owner": "my-name"}
{"taskId": "2", "addBlockedBy": ["1"]}`
)
