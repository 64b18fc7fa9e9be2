// Packets to a PHY at 1 Gb/s, full duplex: preamble, FCS and the gap between two are added, nothing more: N bytes take N + 24 cycles. From
// the first byte of a packet on it takes one each cycle and cannot wait, so mac_port is before it, with the same reset.
module gmii_tx
  import crc32_pkg::crc_t;
  import gmii_pkg::*;
(
    input logic clk,  // 125 MHz
    input logic rst,

    // Packets of 60 bytes or more, without FCS
    input  logic [7:0] s_axis_tdata,
    input  logic       s_axis_tlast,
    input  logic       s_axis_tuser,   // with tlast: its FCS is to be wrong
    input  logic       s_axis_tvalid,
    output logic       s_axis_tready,

    output logic [7:0] gmii_txd_o,
    output logic       gmii_tx_en_o,
    output logic       gmii_tx_er_o,

    output logic underrun_o  // pulse: a packet stopped on its way; it ends with a wrong FCS, its rest is left out
);

  typedef enum logic [2:0] {
    IDLE,   // for a packet; the gap's last cycle
    START,  // preamble and SFD
    DATA,
    FCS,
    GAP
  } state_e;

  state_e state_q, state_d;
  logic [3:0] count_q, count_d;
  crc_t crc_q, crc_d;
  logic spoil_q, spoil_d;  // the FCS is to be wrong
  logic leave_q, leave_d;  // the rest of a packet is left out
  logic [7:0] data;
  logic enable, error, underrun;

  always_comb begin
    state_d = state_q;
    count_d = count_q + 1'b1;
    crc_d = crc_q;
    spoil_d = spoil_q;
    leave_d = leave_q && !(s_axis_tvalid && s_axis_tlast);
    data = '0;
    enable = 1'b1;
    error = 1'b0;
    underrun = 1'b0;
    s_axis_tready = leave_q;
    unique case (state_q)
      IDLE: begin
        enable  = 1'b0;
        count_d = '0;
        if (s_axis_tvalid && !leave_q) state_d = START;
      end
      START: begin
        data = PREAMBLE;
        crc_d = CRC_START;
        if (count_q == 4'(START_BYTES - 1)) begin
          data = SFD;
          state_d = DATA;
        end
      end
      DATA: begin
        s_axis_tready = 1'b1;
        data = s_axis_tdata;
        crc_d = crc_after(crc_q, s_axis_tdata);
        count_d = '0;
        spoil_d = s_axis_tuser;
        if (!s_axis_tvalid) begin
          underrun = 1'b1;
          error = 1'b1;
          spoil_d = 1'b1;
          leave_d = 1'b1;
        end
        if (!s_axis_tvalid || s_axis_tlast) state_d = FCS;
      end
      FCS: begin
        data  = spoil_q ? crc_q[7:0] : ~crc_q[7:0];
        error = spoil_q && count_q == '0;
        crc_d = crc_q >> 8;
        if (count_q == 4'(FCS_BYTES - 1)) begin
          state_d = GAP;
          count_d = '0;
        end
      end
      default: begin
        enable = 1'b0;
        if (count_q == 4'(GAP_BYTES - 2)) state_d = IDLE;
      end
    endcase
  end

  always_ff @(posedge clk) begin
    state_q <= state_d;
    count_q <= count_d;
    crc_q <= crc_d;
    spoil_q <= spoil_d;
    leave_q <= leave_d;
    gmii_txd_o <= data;
    gmii_tx_en_o <= enable;
    gmii_tx_er_o <= error;
    underrun_o <= underrun;
    if (rst) begin
      state_q <= GAP;
      count_q <= '0;
      leave_q <= 1'b0;
      gmii_tx_en_o <= 1'b0;
      gmii_tx_er_o <= 1'b0;
      underrun_o <= 1'b0;
    end
  end

endmodule
