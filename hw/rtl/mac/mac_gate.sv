// Lets a packet go to the MAC when all of it is there, so that it is sent without a gap. With a threshold also when so many of its beats
// are there: a packet whose source then does not keep up ends at once, marked as wrong, and its rest is left out.
module mac_gate #(
    parameter int unsigned DataW  = 512,
    parameter int unsigned Depth  = 256,  // beats that the memory behind which it stands holds

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned LevelW = $clog2(Depth) + 1
) (
    input logic clk,
    input logic rst,
    input logic restart_i,  // what is behind has been emptied

    input logic [15:0] threshold_i,  // beats of DataW from which on a packet may start; 0: all of it

    // Packets as cdc_packets gives them
    input  logic [ DataW-1:0] s_axis_tdata,
    input  logic [ KeepW-1:0] s_axis_tkeep,
    input  logic              s_axis_tlast,
    input  logic              s_axis_tuser,   // cut
    input  logic              s_axis_tvalid,
    output logic              s_axis_tready,
    input  logic              whole_i,        // the end of this packet is inside
    input  logic [LevelW-1:0] level_i,

    output logic [DataW-1:0] m_axis_tdata,
    output logic [KeepW-1:0] m_axis_tkeep,
    output logic             m_axis_tlast,
    output logic             m_axis_tuser,   // with tlast: the MAC is to spoil its FCS
    output logic             m_axis_tvalid,
    input  logic             m_axis_tready,

    output logic underrun_o,  // pulse: a packet's source did not keep up
    output logic too_long_o   // pulse: a packet that never fits was left out
);

  localparam int unsigned SETTLED = 7;  // cycles from a beat's being seen to its packet's end being seen, at most

  typedef enum logic [1:0] {
    WAIT,  // for a packet that may start
    SEND,
    LEAVE  // the rest of a packet is left out
  } state_e;

  state_e state_q, state_d;
  logic starts, sends, runs_dry, empties, ample_q, fills, valid, ready, take;
  logic [2:0] full_q;
  logic [1:0] fresh_q;  // cycles since the last packet, in which level_i is not yet of the next one

  assign starts = whole_i || (ample_q && fresh_q == '0);
  assign sends = state_q == SEND || (state_q == WAIT && starts);
  assign empties = ready && (!m_axis_tvalid || m_axis_tready);  // the MAC is about to have nothing
  assign runs_dry = state_q == SEND && !s_axis_tvalid && empties;
  assign fills = state_q == WAIT && s_axis_tvalid && !starts && level_i == LevelW'(Depth);
  assign valid = (sends && s_axis_tvalid) || runs_dry;
  assign take = sends && s_axis_tvalid && ready;
  assign s_axis_tready = state_q == LEAVE || (sends && ready);

  always_comb begin
    state_d = state_q;
    unique case (state_q)
      WAIT: begin
        if (take) state_d = s_axis_tlast ? WAIT : SEND;
        else if (fills && full_q == 3'(SETTLED)) state_d = LEAVE;
      end
      SEND: begin
        if (runs_dry) state_d = LEAVE;
        else if (take && s_axis_tlast) state_d = WAIT;
      end
      default: if (s_axis_tvalid && s_axis_tlast) state_d = WAIT;
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    ample_q <= threshold_i != '0 && 16'(level_i) >= threshold_i;
    fresh_q <= state_d != WAIT || take ? '1 : fresh_q - 2'(fresh_q != '0);
    full_q <= fills ? full_q + 3'(full_q != 3'(SETTLED)) : '0;
    underrun_o <= runs_dry;
    too_long_o <= state_q == WAIT && state_d == LEAVE;
    if (rst || restart_i) begin
      state_q <= WAIT;
      ample_q <= 1'b0;
      fresh_q <= '1;
      full_q <= '0;
      underrun_o <= 1'b0;
      too_long_o <= 1'b0;
    end
  end

  axis_reg #(
      .DataW(2 + KeepW + DataW)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({
        runs_dry || s_axis_tuser, runs_dry || s_axis_tlast, runs_dry ? KeepW'(1) : s_axis_tkeep, s_axis_tdata
      }),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
