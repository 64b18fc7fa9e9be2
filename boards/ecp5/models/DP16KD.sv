// Model of the ECP5's block RAM (Lattice FPGA-TN-02204), as far as yosys uses it: 1024 words of 18 bits, no output registers, all chip
// selects 0, no resets or with the clock. A and B are ports of 1 to 18 bits; with 36 bits, A writes and B reads.
/* verilator lint_off UNUSEDSIGNAL */
/* verilator lint_off UNUSEDPARAM */
/* verilator lint_off MULTIDRIVEN */
/* verilator lint_off WIDTHEXPAND */
module DP16KD #(
    parameter int unsigned DATA_WIDTH_A = 18,
    parameter int unsigned DATA_WIDTH_B = 18,
    parameter REGMODE_A = "NOREG",
    parameter REGMODE_B = "NOREG",
    parameter RESETMODE = "SYNC",
    parameter ASYNC_RESET_RELEASE = "SYNC",
    parameter CSDECODE_A = "0b000",
    parameter CSDECODE_B = "0b000",
    parameter WRITEMODE_A = "NORMAL",
    parameter WRITEMODE_B = "NORMAL",
    parameter CLKAMUX = "CLKA",
    parameter CLKBMUX = "CLKB",
    parameter GSR = "AUTO",
    parameter logic [319:0] INITVAL_00 = '0, parameter logic [319:0] INITVAL_01 = '0,
    parameter logic [319:0] INITVAL_02 = '0, parameter logic [319:0] INITVAL_03 = '0,
    parameter logic [319:0] INITVAL_04 = '0, parameter logic [319:0] INITVAL_05 = '0,
    parameter logic [319:0] INITVAL_06 = '0, parameter logic [319:0] INITVAL_07 = '0,
    parameter logic [319:0] INITVAL_08 = '0, parameter logic [319:0] INITVAL_09 = '0,
    parameter logic [319:0] INITVAL_0A = '0, parameter logic [319:0] INITVAL_0B = '0,
    parameter logic [319:0] INITVAL_0C = '0, parameter logic [319:0] INITVAL_0D = '0,
    parameter logic [319:0] INITVAL_0E = '0, parameter logic [319:0] INITVAL_0F = '0,
    parameter logic [319:0] INITVAL_10 = '0, parameter logic [319:0] INITVAL_11 = '0,
    parameter logic [319:0] INITVAL_12 = '0, parameter logic [319:0] INITVAL_13 = '0,
    parameter logic [319:0] INITVAL_14 = '0, parameter logic [319:0] INITVAL_15 = '0,
    parameter logic [319:0] INITVAL_16 = '0, parameter logic [319:0] INITVAL_17 = '0,
    parameter logic [319:0] INITVAL_18 = '0, parameter logic [319:0] INITVAL_19 = '0,
    parameter logic [319:0] INITVAL_1A = '0, parameter logic [319:0] INITVAL_1B = '0,
    parameter logic [319:0] INITVAL_1C = '0, parameter logic [319:0] INITVAL_1D = '0,
    parameter logic [319:0] INITVAL_1E = '0, parameter logic [319:0] INITVAL_1F = '0,
    parameter logic [319:0] INITVAL_20 = '0, parameter logic [319:0] INITVAL_21 = '0,
    parameter logic [319:0] INITVAL_22 = '0, parameter logic [319:0] INITVAL_23 = '0,
    parameter logic [319:0] INITVAL_24 = '0, parameter logic [319:0] INITVAL_25 = '0,
    parameter logic [319:0] INITVAL_26 = '0, parameter logic [319:0] INITVAL_27 = '0,
    parameter logic [319:0] INITVAL_28 = '0, parameter logic [319:0] INITVAL_29 = '0,
    parameter logic [319:0] INITVAL_2A = '0, parameter logic [319:0] INITVAL_2B = '0,
    parameter logic [319:0] INITVAL_2C = '0, parameter logic [319:0] INITVAL_2D = '0,
    parameter logic [319:0] INITVAL_2E = '0, parameter logic [319:0] INITVAL_2F = '0,
    parameter logic [319:0] INITVAL_30 = '0, parameter logic [319:0] INITVAL_31 = '0,
    parameter logic [319:0] INITVAL_32 = '0, parameter logic [319:0] INITVAL_33 = '0,
    parameter logic [319:0] INITVAL_34 = '0, parameter logic [319:0] INITVAL_35 = '0,
    parameter logic [319:0] INITVAL_36 = '0, parameter logic [319:0] INITVAL_37 = '0,
    parameter logic [319:0] INITVAL_38 = '0, parameter logic [319:0] INITVAL_39 = '0,
    parameter logic [319:0] INITVAL_3A = '0, parameter logic [319:0] INITVAL_3B = '0,
    parameter logic [319:0] INITVAL_3C = '0, parameter logic [319:0] INITVAL_3D = '0,
    parameter logic [319:0] INITVAL_3E = '0, parameter logic [319:0] INITVAL_3F = '0,
    parameter INIT_DATA = "STATIC"
) (
    input wire DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0,
    input wire ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0,
    input wire CEA, OCEA, CLKA, WEA, RSTA, CSA2, CSA1, CSA0,
    output wire DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0,
    input wire DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0,
    input wire ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0,
    input wire CEB, OCEB, CLKB, WEB, RSTB, CSB2, CSB1, CSB0,
    output wire DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0
);

  localparam logic [64*320-1:0] INITVAL = {
    INITVAL_3F, INITVAL_3E, INITVAL_3D, INITVAL_3C, INITVAL_3B, INITVAL_3A, INITVAL_39, INITVAL_38,
    INITVAL_37, INITVAL_36, INITVAL_35, INITVAL_34, INITVAL_33, INITVAL_32, INITVAL_31, INITVAL_30,
    INITVAL_2F, INITVAL_2E, INITVAL_2D, INITVAL_2C, INITVAL_2B, INITVAL_2A, INITVAL_29, INITVAL_28,
    INITVAL_27, INITVAL_26, INITVAL_25, INITVAL_24, INITVAL_23, INITVAL_22, INITVAL_21, INITVAL_20,
    INITVAL_1F, INITVAL_1E, INITVAL_1D, INITVAL_1C, INITVAL_1B, INITVAL_1A, INITVAL_19, INITVAL_18,
    INITVAL_17, INITVAL_16, INITVAL_15, INITVAL_14, INITVAL_13, INITVAL_12, INITVAL_11, INITVAL_10,
    INITVAL_0F, INITVAL_0E, INITVAL_0D, INITVAL_0C, INITVAL_0B, INITVAL_0A, INITVAL_09, INITVAL_08,
    INITVAL_07, INITVAL_06, INITVAL_05, INITVAL_04, INITVAL_03, INITVAL_02, INITVAL_01, INITVAL_00
  };

  logic [17:0] memory[1024];
  logic [17:0] read_a, read_b;
  wire [13:0] address_a = {ADA13, ADA12, ADA11, ADA10, ADA9, ADA8, ADA7, ADA6, ADA5, ADA4, ADA3, ADA2, ADA1, ADA0};
  wire [13:0] address_b = {ADB13, ADB12, ADB11, ADB10, ADB9, ADB8, ADB7, ADB6, ADB5, ADB4, ADB3, ADB2, ADB1, ADB0};
  wire [17:0] data_a = {DIA17, DIA16, DIA15, DIA14, DIA13, DIA12, DIA11, DIA10, DIA9, DIA8, DIA7, DIA6, DIA5, DIA4, DIA3, DIA2, DIA1, DIA0};
  wire [17:0] data_b = {DIB17, DIB16, DIB15, DIB14, DIB13, DIB12, DIB11, DIB10, DIB9, DIB8, DIB7, DIB6, DIB5, DIB4, DIB3, DIB2, DIB1, DIB0};
  wire clock_a = CLKAMUX == "INV" ? !CLKA : CLKA;
  wire clock_b = CLKBMUX == "INV" ? !CLKB : CLKB;

  if (REGMODE_A != "NOREG" || REGMODE_B != "NOREG" || CSDECODE_A != "0b000" ||
      CSDECODE_B != "0b000") begin : gen_check
    $error("%m: this is not in the model");
  end

  // yosys says ASYNC where there is no reset
  always @(posedge RSTA or posedge RSTB) begin
    if (RESETMODE != "SYNC") $error("%m: this is not in the model");
  end

  initial begin
    read_a = '0;
    read_b = '0;
    for (int k = 0; k < 1024; k++) memory[k] = INITVAL[20*k+:18];
  end

  // The first bit of an address in its word: two bytes of 9 bits, whose last one ports of 1, 2 and 4 bits do not have
  function automatic int unsigned first(input int unsigned width, input logic [3:0] address);
    case (width)
      1: return 9 * address[3] + 32'(address[2:0]);
      2: return 9 * address[3] + 2 * address[2:1];
      4: return 9 * address[3] + 4 * address[2];
      9: return 9 * address[3];
      default: return 0;
    endcase
  endfunction

  // Which bits a port writes
  function automatic logic [17:0] mask(input int unsigned width, input logic [3:0] address);
    if (width >= 18) return {{9{address[1]}}, {9{address[0]}}};
    return ((18'd1 << width) - 18'd1) << first(width, address[3:0]);
  endfunction

  function automatic logic [17:0] written(input int unsigned width, input logic [13:0] address, input logic [17:0] data,
                                          input logic [17:0] old);
    return (old & ~mask(width, address[3:0])) | ((data << first(width, address[3:0])) & mask(width, address[3:0]));
  endfunction

  function automatic logic [17:0] chosen(input int unsigned width, input logic [13:0] address, input logic [17:0] word);
    return width >= 18 ? word : (word >> first(width, address[3:0])) & ((18'd1 << width) - 18'd1);
  endfunction

  if (DATA_WIDTH_A == 36) begin : gen_wide_write
    always @(posedge clock_a) begin
      if (CEA && WEA) begin
        memory[{address_a[13:5], 1'b0}] <= written(18, address_a, data_a, memory[{address_a[13:5], 1'b0}]);
        memory[{address_a[13:5], 1'b1}] <= written(18, address_a >> 2, data_b, memory[{address_a[13:5], 1'b1}]);
      end
    end
  end else begin : gen_port_a
    wire [17:0] old_a = memory[address_a[13:4]];
    wire [17:0] new_a = written(DATA_WIDTH_A, address_a, data_a, old_a);

    always @(posedge clock_a) begin
      if (CEA && WEA && !RSTA) memory[address_a[13:4]] <= new_a;
      if (CEA && !WEA) read_a <= chosen(DATA_WIDTH_A, address_a, old_a);
      if (CEA && WEA && WRITEMODE_A == "READBEFOREWRITE") read_a <= chosen(DATA_WIDTH_A, address_a, old_a);
      if (CEA && WEA && WRITEMODE_A == "WRITETHROUGH") read_a <= chosen(DATA_WIDTH_A, address_a, new_a);
      if (RSTA) read_a <= '0;
    end
  end

  if (DATA_WIDTH_B == 36) begin : gen_wide_read
    always @(posedge clock_b) begin
      if (CEB) {read_b, read_a} <= {memory[{address_b[13:5], 1'b1}], memory[{address_b[13:5], 1'b0}]};
      if (RSTB) {read_b, read_a} <= '0;
    end
  end else begin : gen_port_b
    wire [17:0] old_b = memory[address_b[13:4]];
    wire [17:0] new_b = written(DATA_WIDTH_B, address_b, data_b, old_b);

    always @(posedge clock_b) begin
      if (CEB && WEB && !RSTB) memory[address_b[13:4]] <= new_b;
      if (CEB && !WEB) read_b <= chosen(DATA_WIDTH_B, address_b, old_b);
      if (CEB && WEB && WRITEMODE_B == "READBEFOREWRITE") read_b <= chosen(DATA_WIDTH_B, address_b, old_b);
      if (CEB && WEB && WRITEMODE_B == "WRITETHROUGH") read_b <= chosen(DATA_WIDTH_B, address_b, new_b);
      if (RSTB) read_b <= '0;
    end
  end

  assign {DOA17, DOA16, DOA15, DOA14, DOA13, DOA12, DOA11, DOA10, DOA9, DOA8, DOA7, DOA6, DOA5, DOA4, DOA3, DOA2, DOA1, DOA0} = read_a;
  assign {DOB17, DOB16, DOB15, DOB14, DOB13, DOB12, DOB11, DOB10, DOB9, DOB8, DOB7, DOB6, DOB5, DOB4, DOB3, DOB2, DOB1, DOB0} = read_b;

endmodule
