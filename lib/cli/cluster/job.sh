#!/bin/bash
# Written by ping-llm slurm: @PURPOSE@
# Submit: sbatch @DEPENDENCY@@FILE@    By hand, without SLURM: bash @FILE@
@DIRECTIVES@
# SLURM starts the job again after a node failure or a preemption; the log continues.
#SBATCH --requeue
#SBATCH --open-mode=append
# Sends SIGUSR2 to this shell this many seconds before the time limit.
#SBATCH --signal=B:USR2@@SIGNAL_SECONDS@
# Cancels a job that waits for a failed one.
#SBATCH --kill-on-invalid-dep=yes

# A job that needs more restarts than this makes no progress.
max_restarts=@MAX_RESTARTS@
restart=${SLURM_RESTART_COUNT:-0}
child=

say() { printf '%s: %s\n' "$(date -u +%FT%TZ)" "$1"; }
fail() { printf 'error: %s\n' "$1" >&2; exit "$2"; }

# The command of this job.
stage() {
@COMMAND@
}

# Passes a signal to the stage, which saves everything and exits with 75.
pass_on() {
  [ -n "$child" ] || stopped
  interrupted=yes
  kill -s "$1" "$child" 2>/dev/null
}

# In the background: a shell takes signals at once only while it waits.
run() {
  stage &
  child=$!
  interrupted=yes
  while [ -n "$interrupted" ]; do
    interrupted=
    wait "$child"
    code=$?
  done
  child=
  case $code in
    0) say "done" ;;
    # 140 and 143: a signal came before the stage had started to handle signals.
    75 | 140 | 143) stopped ;;
    137) fail "the stage was killed, probably for exceeding --mem=@MEMORY@; raise memoryGb and submit again to continue" 137 ;;
    *) exit "$code" ;;
  esac
}

# Everything is saved: back into the queue, unless SLURM is already ending the job, as after scancel.
stopped() {
  if [ -z "${SLURM_JOB_ID-}" ]; then
    say "stopped; run this script again to continue"
  elif [ "$(squeue --noheader --jobs="$SLURM_JOB_ID" --format=%T)" = RUNNING ]; then
    say "stopped with everything saved; requeueing job $SLURM_JOB_ID after restart $restart"
    scontrol requeue "$SLURM_JOB_ID"
  else
    say "stopped by SLURM with everything saved"
  fi
  exit 75
}

trap 'pass_on USR2' USR2
trap 'pass_on TERM' TERM
# Ctrl+C reaches the stage itself.
trap 'interrupted=yes' INT

cd @FOLDER@ || exit 1
@SETUP@
set -u
say "${SLURM_JOB_ID:+job $SLURM_JOB_ID, }restart $restart of at most $max_restarts, on $(uname -n)"
[ "$restart" -le "$max_restarts" ] ||
  fail "the job was started again $restart times, expected at most $max_restarts; see this log, and submit again to continue" 1
@RUN@
