# Runs the command of SHARE/.guest/command.sh; its output and exit status are left beside it.
#   run_command.sh SHARE
guest=$1/.guest
sh "$guest/command.sh" >"$guest/stdout" 2>"$guest/stderr" </dev/null
echo $? >"$guest/status.part"
mv "$guest/status.part" "$guest/status"
