# Packages a top as an IP of Vivado: its wrapper, whose interfaces Vivado infers, its sources, and its constraints.
#
#   make constraints BLOCK=framelane_top ARGS="--instance u_top --period clk=4 --period tx_clk=3.103 ..."
#   vivado -mode batch -source hw/vivado/package_ip.tcl -tclargs framelane_top build/ip
#
# The constraints of what crosses clocks, build/constraints/<top>.xdc, are of tops with several clocks. The folder is then
# one for ip_repo_paths. No Vivado has run this file yet.
if {[llength $argv] != 2} {
    puts "give a top, such as framelane_top, and the folder for its IP: -tclargs framelane_top build/ip"
    exit 2
}
lassign $argv top folder
set hw [file dirname [file dirname [file normalize [info script]]]]
set build [file join [file dirname $hw] build constraints]
if {![file exists [file join $hw $top.f]]} {
    puts "there is no top $top: no file hw/$top.f"
    exit 2
}

create_project -in_memory -part xcu55c-fsvh2892-2L-e
set list [open [file join $hw $top.f]]
foreach line [split [read $list] "\n"] {
    if {$line ne "" && ![string match "//*" $line]} {
        read_verilog -sv [file join $hw $line]
    }
}
close $list
read_verilog [file join $hw vivado $top ${top}_ip.v]

set crossings [file join $build $top.xdc]
if {[file exists $crossings]} {
    read_xdc $crossings
    # Behind the clocks of the design that the IP is in
    set_property PROCESSING_ORDER LATE [get_files $crossings]
} elseif {[llength [regexp -all -inline -line {^ +input wire \w*clk,$} [read [set wrapper [open [file join $hw vivado $top ${top}_ip.v]]]]]] > 1} {
    puts "$top has several clocks: write $crossings by make constraints first"
    exit 2
}
set_property TOP ${top}_ip [current_fileset]

ipx::package_project -root_dir [file join $folder $top] -vendor framelane -library framelane -taxonomy /UserIP \
    -import_files -set_current true
set core [ipx::current_core]
set_property DISPLAY_NAME "framelane $top" $core
ipx::update_checksums $core
ipx::check_integrity $core
ipx::save_core $core
