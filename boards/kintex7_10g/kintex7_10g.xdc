# Pins of an STLV7325 (XC7K325T-2FFG676), version 2, as litex-boards has them (platforms/sitlinv_stlv7325_v2.py, read at 44ec9b7). Another
# board has other pins: change these lines, the part, and nothing else. Not read by any tool of the vendor yet.
set_property PACKAGE_PIN F17 [get_ports clk50]
set_property IOSTANDARD LVCMOS25 [get_ports clk50]
set_property PACKAGE_PIN AC16 [get_ports reset_n]
set_property IOSTANDARD LVCMOS15 [get_ports reset_n]
set_property PACKAGE_PIN L23 [get_ports uart_tx]
set_property IOSTANDARD LVCMOS25 [get_ports uart_tx]
set_property PACKAGE_PIN K21 [get_ports uart_rx]
set_property IOSTANDARD LVCMOS25 [get_ports uart_rx]
set_property PACKAGE_PIN AA2 [get_ports led_n]
set_property IOSTANDARD LVCMOS15 [get_ports led_n]

# SFP A. The transceiver's place follows from its pins
set_property PACKAGE_PIN D6 [get_ports sfp_refclk_p]
set_property PACKAGE_PIN D5 [get_ports sfp_refclk_n]
set_property PACKAGE_PIN H2 [get_ports sfp_tx_p]
set_property PACKAGE_PIN H1 [get_ports sfp_tx_n]
set_property PACKAGE_PIN J4 [get_ports sfp_rx_p]
set_property PACKAGE_PIN J3 [get_ports sfp_rx_n]

create_clock -name clk50 -period 20.000 [get_ports clk50]
create_clock -name sfp_refclk -period 6.400 [get_ports sfp_refclk_p]

# What comes in or goes out in no clock
set_false_path -from [get_ports {reset_n uart_rx}]
set_false_path -to [get_ports {uart_tx led_n}]

set_property CFGBVS VCCO [current_design]
set_property CONFIG_VOLTAGE 2.5 [current_design]
