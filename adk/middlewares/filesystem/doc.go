// Package filesystem gives an agent files, and a shell if it may have one.
//
// [New] makes a middleware that adds tools to list, read, write, edit, find and search the files of a
// [filesystem.Backend], and one to execute commands if a shell is configured. Each tool can be renamed, described again,
// replaced or left out by its [ToolConfig]. With [MiddlewareConfig.UseMultiModalRead] the agent can look at images and
// PDFs, too.
//
// What the tools return is text made for models: numbered lines, short notices instead of empty results. What a
// backend refuses is an error of the tool; package toolerrors has the model read it.
//
// [NewMiddleware] is the form of early versions. In addition to having the tools, it moves results that are too large for
// the model into a file; package reduction does that better.
package filesystem
