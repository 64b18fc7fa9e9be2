// Takes the VLAN tag out of the frames that have one, as tuser says; it goes on in tuser. A frame that then ends with one more beat costs
// one bubble.
module vlan_strip
  import roce_pkg::VLAN_BYTES;
  import roce_rx_pkg::*;
(
    input logic clk,
    input logic rst,

    // Frames of more than 16 bytes
    input  logic     [63:0] s_axis_tdata,
    input  logic     [ 7:0] s_axis_tkeep,
    input  logic            s_axis_tlast,
    input  rx_user_t        s_axis_tuser,
    input  logic            s_axis_tvalid,
    output logic            s_axis_tready,

    output logic     [63:0] m_axis_tdata,
    output logic     [ 7:0] m_axis_tkeep,
    output logic            m_axis_tlast,
    output rx_user_t        m_axis_tuser,
    output logic            m_axis_tvalid,
    input  logic            m_axis_tready
);

  localparam int unsigned SHIFT_W = 8 * VLAN_BYTES;

  typedef enum logic [1:0] {
    ADDRESSES,  // the frame's first beat
    TAG,        // its second one: the addresses' rest, and the tag
    REST,
    TAIL        // behind its last one: bytes that wait
  } state_e;

  state_e state_q, state_d;
  logic [SHIFT_W-1:0] waiting_q;  // the next bytes to go out
  logic [VLAN_BYTES-1:0] waiting_keep_q;
  rx_user_t user_q, user;
  logic [63:0] data;
  logic [7:0] keep;
  logic last, valid, ready;

  assign s_axis_tready = ready && state_q != TAIL;

  always_comb begin
    state_d = state_q;
    data = s_axis_tdata;
    keep = s_axis_tkeep;
    last = s_axis_tlast;
    user = s_axis_tuser;
    valid = s_axis_tvalid;
    unique case (state_q)
      ADDRESSES: if (s_axis_tuser.tag.has_vlan && !s_axis_tlast) state_d = TAG;
      TAG: begin
        valid = 1'b0;
        state_d = REST;
      end
      REST: begin
        data = {s_axis_tdata[SHIFT_W-1:0], waiting_q};
        keep = {s_axis_tkeep[VLAN_BYTES-1:0], {VLAN_BYTES{1'b1}}};
        last = s_axis_tlast && !s_axis_tkeep[VLAN_BYTES];
        if (s_axis_tlast) state_d = last ? ADDRESSES : TAIL;
      end
      default: begin
        data = 64'(waiting_q);
        keep = 8'(waiting_keep_q);
        last = 1'b1;
        user = user_q;
        valid = 1'b1;
        state_d = ADDRESSES;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    if (ready && (s_axis_tvalid || state_q == TAIL)) begin
      state_q <= state_d;
      waiting_q <= state_q == TAG ? s_axis_tdata[SHIFT_W-1:0] : s_axis_tdata[63:SHIFT_W];
      waiting_keep_q <= s_axis_tkeep[7:VLAN_BYTES];
      user_q <= s_axis_tuser;
    end
    if (rst) state_q <= ADDRESSES;
  end

  axis_reg #(
      .DataW($bits(rx_user_t) + 1 + 8 + 64)
  ) u_reg (
      .clk,
      .rst,
      .s_axis_tdata ({user, last, keep, data}),
      .s_axis_tvalid(valid),
      .s_axis_tready(ready),
      .m_axis_tdata ({m_axis_tuser, m_axis_tlast, m_axis_tkeep, m_axis_tdata}),
      .m_axis_tvalid,
      .m_axis_tready
  );

endmodule
