// Cells of the vendor and an IP made in Vivado, for tools that do not have them: ports alone. In Vivado leave this file out.
// Ports as in AMD's PG157 (AXI 10G Ethernet, 10GBASE-R, 64 bits, shared logic in the core, no AXI4-Lite, no statistics), UG953.
/* verilator lint_off DECLFILENAME */
/* verilator lint_off UNDRIVEN */
/* verilator lint_off UNUSEDSIGNAL */

(* blackbox *)
module BUFG (
    output wire O,
    input wire I
);
endmodule

(* blackbox *)
module axi_10g_ethernet_0 (
    input wire refclk_p,
    input wire refclk_n,
    input wire reset,
    input wire dclk,
    output wire coreclk_out,
    output wire areset_datapathclk_out,
    output wire txp,
    output wire txn,
    input wire rxp,
    input wire rxn,
    input wire signal_detect,
    input wire tx_fault,
    output wire tx_disable,
    input wire sim_speedup_control,
    input wire tx_axis_aresetn,
    input wire rx_axis_aresetn,
    input wire [7:0] tx_ifg_delay,
    input wire [79:0] mac_tx_configuration_vector,
    input wire [79:0] mac_rx_configuration_vector,
    output wire [1:0] mac_status_vector,
    input wire [535:0] pcs_pma_configuration_vector,
    output wire [447:0] pcs_pma_status_vector,
    output wire [7:0] pcspma_status,
    input wire [63:0] s_axis_tx_tdata,
    input wire [7:0] s_axis_tx_tkeep,
    input wire s_axis_tx_tlast,
    input wire s_axis_tx_tuser,
    input wire s_axis_tx_tvalid,
    output wire s_axis_tx_tready,
    input wire [15:0] s_axis_pause_tdata,
    input wire s_axis_pause_tvalid,
    output wire [63:0] m_axis_rx_tdata,
    output wire [7:0] m_axis_rx_tkeep,
    output wire m_axis_rx_tlast,
    output wire m_axis_rx_tuser,
    output wire m_axis_rx_tvalid
);
endmodule
