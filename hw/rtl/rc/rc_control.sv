// Commands of software to the RC requester, one at a time. As a reset of the core begins, all its queue pairs are put into error:
// no receiver that stays away can hold it up.
module rc_control
  import rc_pkg::*;
#(
    parameter int unsigned RcQps = 16
) (
    input logic clk,
    input logic rst,

    // Software: pulses, ignored while busy or resetting
    input  logic        arm_i,
    input  logic        close_i,
    input  logic [ 7:0] qp_i,
    input  logic [23:0] psn_i,
    input  logic        resetting_i,
    output logic        busy_o,
    output logic        refused_o,    // the last one was

    // The requester takes a command when it is done, or refused
    output rc_command_t m_axis_command_tdata,
    output logic        m_axis_command_tvalid,
    input  logic        m_axis_command_tready,
    input  logic        refused_i
);

  logic valid_q, sweeps_q, want_sweep_q, was_resetting_q, begins;
  rc_command_t command_q;

  assign begins = (arm_i || close_i) && !busy_o && !resetting_i;
  assign busy_o = valid_q || want_sweep_q;
  assign m_axis_command_tvalid = valid_q;
  assign m_axis_command_tdata = command_q;

  always_ff @(posedge clk) begin
    was_resetting_q <= resetting_i;
    if (valid_q && m_axis_command_tready) begin
      valid_q <= sweeps_q && command_q.qp != 8'(RcQps - 1);
      command_q.qp <= command_q.qp + 1'b1;
      if (!sweeps_q) refused_o <= refused_i;
    end
    if (!valid_q && want_sweep_q) begin
      valid_q <= 1'b1;
      sweeps_q <= 1'b1;
      want_sweep_q <= 1'b0;
      command_q <= '{arm: 1'b0, qp: '0, reason: RC_CLOSED, psn: '0};
    end else if (begins) begin
      valid_q <= 1'b1;
      sweeps_q <= 1'b0;
      refused_o <= 1'b0;
      command_q <= '{arm: arm_i, qp: qp_i, reason: RC_CLOSED, psn: psn_i};
    end
    if (resetting_i && !was_resetting_q) want_sweep_q <= 1'b1;
    if (rst) begin
      valid_q <= 1'b0;
      want_sweep_q <= 1'b0;
      was_resetting_q <= 1'b1;
      refused_o <= 1'b0;
    end
  end

endmodule
