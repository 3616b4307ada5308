/* SPDX-License-Identifier: Apache-2.0
 * Completion of command lines in bash, zsh and fish, from the tables of commands and options. */
#include "cli.h"

#include <string.h>

static void spaced(const char *choices)
{
    for (; *choices; choices++)
        putchar(*choices == '|' ? ' ' : *choices);
}

static bool takes_file(const struct shown_option *s)
{
    return strcmp(s->argument, "FILE") == 0 || strcmp(s->argument, "DIR") == 0 ||
           strcmp(s->argument, "FILES") == 0;
}

static void command_names(void)
{
    for (int i = 0; command_at(i); i++)
        if (!command_at(i)->hidden)
            printf("%s%s", i ? " " : "", command_at(i)->name);
}

/* ---- bash ---- */

static void bash_word(void *argument, const struct shown_option *s)
{
    (void)argument;
    printf(" --%s", s->name);
}

static void bash_values(void *argument, const struct shown_option *s)
{
    if (s->words) {
        printf("    %s:--%s) values='", (const char *)argument, s->name);
        spaced(s->words);
        printf("' ;;\n");
    }
}

static void bash(void)
{
    printf("# Completion of orthant for bash; made by `orthant completion bash`.\n"
           "_orthant() {\n"
           "  local current=\"${COMP_WORDS[COMP_CWORD]}\" before=\"${COMP_WORDS[COMP_CWORD-1]}\"\n"
           "  local command=\"${COMP_WORDS[1]}\" options='' values=''\n"
           "  COMPREPLY=()\n"
           "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
           "    COMPREPLY=($(compgen -W '");
    command_names();
    printf(" --help --version' -- \"$current\"))\n    return\n  fi\n"
           "  case \"$command:$before\" in\n");
    for (int i = 0; command_at(i); i++)
        if (!command_at(i)->hidden)
            visit_options(command_at(i), bash_values, (void *)(uintptr_t)command_at(i)->name);
    printf("  esac\n"
           "  if [ -n \"$values\" ]; then COMPREPLY=($(compgen -W \"$values\" -- \"$current\")); "
           "return; fi\n"
           "  case \"$current\" in -*) ;; *) return ;; esac\n"
           "  case \"$command\" in\n");
    for (int i = 0; command_at(i); i++) {
        if (command_at(i)->hidden)
            continue;
        printf("    %s) options='", command_at(i)->name);
        visit_options(command_at(i), bash_word, NULL);
        printf("' ;;\n");
    }
    printf("  esac\n"
           "  COMPREPLY=($(compgen -W \"$options\" -- \"$current\"))\n"
           "}\n"
           "complete -o default -F _orthant orthant\n");
}

/* ---- zsh ---- */

/* Text inside '…[…]': quotes, brackets and colons have a meaning there. */
static void zsh_text(const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", stdout);
        else if (strchr("[]:\\", *text))
            printf("\\%c", *text);
        else
            putchar(*text);
    }
}

static void zsh_option(void *argument, const struct shown_option *s)
{
    (void)argument;
    printf(" \\\n        '*--%s[", s->name);
    zsh_text(s->help);
    printf("]");
    if (s->words) {
        printf(":value:(");
        spaced(s->words);
        printf(")");
    } else if (s->argument[0]) {
        printf(":%s:%s", s->argument, takes_file(s) ? "_files" : "");
    }
    printf("'");
}

static void zsh(void)
{
    printf("#compdef orthant\n# Completion of orthant for zsh; made by `orthant completion zsh`.\n"
           "_orthant() {\n  local -a commands\n  commands=(\n");
    for (int i = 0; command_at(i); i++) {
        if (command_at(i)->hidden)
            continue;
        printf("    '%s:", command_at(i)->name);
        zsh_text(command_at(i)->sentence);
        printf("'\n");
    }
    printf("  )\n  if (( CURRENT == 2 )); then _describe 'command' commands; return; fi\n"
           "  local command=$words[2]\n  words=(\"${(@)words[2,-1]}\"); (( CURRENT-- ))\n  case "
           "$command in\n");
    for (int i = 0; command_at(i); i++) {
        if (command_at(i)->hidden)
            continue;
        printf("    %s)\n      _arguments", command_at(i)->name);
        visit_options(command_at(i), zsh_option, NULL);
        printf(" \\\n        '*:file:_files' ;;\n");
    }
    printf("  esac\n}\n_orthant \"$@\"\n");
}

/* ---- fish ---- */

static void fish_text(const char *text)
{
    putchar('\'');
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            putchar('\\');
        putchar(*text);
    }
    putchar('\'');
}

static void fish_option(void *argument, const struct shown_option *s)
{
    printf("complete -c orthant -n '__fish_seen_subcommand_from %s' -l %s", (const char *)argument,
           s->name);
    if (s->argument[0])
        printf(takes_file(s) ? " -r" : " -x");
    if (s->words) {
        printf(" -a '");
        spaced(s->words);
        printf("'");
    }
    printf(" -d ");
    fish_text(s->help);
    putchar('\n');
}

static void fish(void)
{
    printf("# Completion of orthant for fish; made by `orthant completion fish`.\n");
    for (int i = 0; command_at(i); i++) {
        if (command_at(i)->hidden)
            continue;
        printf("complete -c orthant -f -n __fish_use_subcommand -a %s -d ", command_at(i)->name);
        fish_text(command_at(i)->sentence);
        putchar('\n');
        visit_options(command_at(i), fish_option, (void *)(uintptr_t)command_at(i)->name);
    }
}

static enum oa_error run_completion(struct call *call)
{
    static const struct {
        const char *name;
        void (*write)(void);
    } shells[] = { { "bash", bash }, { "zsh", zsh }, { "fish", fish } };
    if (!want_words(call, 1, 1, "the name of a shell: bash, zsh or fish"))
        return OA_ARGUMENT;
    for (int i = 0; i < 3; i++)
        if (strcmp(shells[i].name, call->word[0]) == 0) {
            shells[i].write();
            return OA_OK;
        }
    return wrong_use(call, "there is no completion for \"%.40s\", only for bash, zsh and fish",
                     call->word[0]);
}

const struct command command_completion = {
    .name = "completion",
    .sentence = "prints a completion script for a shell",
    .usage = "bash|zsh|fish",
    .text = "'make install' installs these scripts where the shells look for them.",
    .examples = "$ source <(orthant completion bash)",
    .run = run_completion,
};
